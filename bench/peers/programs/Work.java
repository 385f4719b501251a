import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/** The work of one record in plain Java: what is remembered of its customer, and the record, give a line; the memory is brought up to date. */
public interface Work {
    /** A producer waits so long for company, in milliseconds. */
    int linger();

    /** A line about the record. */
    String step(Memory memory, Transaction record);

    static Work of(String name) {
        return name.equals("count") ? new Count() : new Rules();
    }

    /** What is read of a record. */
    final class Transaction {
        public String tx_id, customer, ts;
        public double amount;
        public long due;

        private static final ObjectMapper JSON = new ObjectMapper();

        static Transaction read(byte[] line) throws IOException {
            return JSON.readValue(line, Transaction.class);
        }
    }

    /** What is remembered of a customer. `n`: how many records there were. */
    final class Memory {
        public long n;
        public double most;
        public long previous;
    }

    /** A line, and whom it is about. */
    final class Row {
        public String customer, line;

        byte[] key() {
            return customer.getBytes(StandardCharsets.UTF_8);
        }

        byte[] value() {
            return line.getBytes(StandardCharsets.UTF_8);
        }

        static Row of(String customer, String line) {
            Row row = new Row();
            row.customer = customer;
            row.line = line;
            return row;
        }
    }

    /** How many transactions the customer has had, with this one. */
    final class Count implements Work {
        @Override public int linger() {
            return 2;
        }

        @Override public String step(Memory memory, Transaction record) {
            memory.n++;
            return "{\"customer\":\"" + record.customer + "\",\"n\":" + memory.n + ",\"due\":" + record.due + "}";
        }
    }

    /** The amount is greater than any before; the one before was at most ten seconds ago. */
    final class Rules implements Work {
        @Override public int linger() {
            return 20;
        }

        @Override public String step(Memory memory, Transaction record) {
            long at = Instant.parse(record.ts).toEpochMilli();
            boolean high = memory.n > 0 && record.amount > memory.most, quick = memory.n > 0 && at - memory.previous <= 10_000;
            memory.most = memory.n > 0 ? Math.max(memory.most, record.amount) : record.amount;
            memory.previous = at;
            memory.n++;
            return "{\"tx_id\":\"" + record.tx_id + "\",\"customer\":\"" + record.customer + "\",\"high\":" + high + ",\"quick\":" + quick + "}";
        }
    }
}
