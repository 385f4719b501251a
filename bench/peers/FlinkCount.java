import java.nio.charset.StandardCharsets;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** The keyed count on Flink: its state in RocksDB, a checkpoint every ten seconds, a record waits at most 5 ms in a buffer. */
public final class FlinkCount {
    public static final class Transaction {
        public String tx_id, customer, ts;
        public double amount;
        public long due;
    }

    static final class Count extends KeyedProcessFunction<String, Transaction, String> {
        private transient ValueState<Long> count;

        @Override public void open(OpenContext context) {
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
        }

        @Override public void processElement(Transaction given, Context context, Collector<String> out) throws Exception {
            Long before = count.value();
            long now = before == null ? 1 : before + 1;
            count.update(now);
            out.collect("{\"customer\":\"" + given.customer + "\",\"n\":" + now + ",\"due\":" + given.due + "}");
        }
    }

    public static void main(String[] args) throws Exception {
        String servers = args[0], given = args[1], result = args[2], place = args[3];
        Configuration settings = new Configuration();
        settings.setString("state.backend.type", "rocksdb");
        settings.setString("execution.checkpointing.dir", "file://" + place);
        settings.setString("execution.checkpointing.incremental", "true");
        settings.setString("rest.bind-address", "127.0.0.1");
        StreamExecutionEnvironment flink = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        flink.setParallelism(2);
        flink.enableCheckpointing(10_000);
        flink.setBufferTimeout(5);
        KafkaSource<String> source = KafkaSource.<String>builder().setBootstrapServers(servers).setTopics(given).setGroupId(given)
            .setStartingOffsets(OffsetsInitializer.earliest()).setValueOnlyDeserializer(new SimpleStringSchema()).build();
        KafkaSink<String> sink = KafkaSink.<String>builder().setBootstrapServers(servers).setProperty("linger.ms", "2")
            .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder().setTopic(result)
                .setKeySerializationSchema((String line) -> line.substring(13, line.indexOf('"', 13)).getBytes(StandardCharsets.UTF_8))
                .setValueSerializationSchema(new SimpleStringSchema()).build())
            .build();
        flink.fromSource(source, WatermarkStrategy.noWatermarks(), "given")
            .map(line -> Json.read(line)).returns(Transaction.class)
            .keyBy(transaction -> transaction.customer)
            .process(new Count())
            .sinkTo(sink);
        flink.execute("count");
    }

    static final class Json {
        private static final ObjectMapper MAPPER = new ObjectMapper();

        static Transaction read(String line) throws Exception {
            return MAPPER.readValue(line, Transaction.class);
        }
    }
}
