import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** The keyed count on Kafka Streams: its state in RocksDB and in a topic, a commit every ten seconds. The records have their key already. */
public final class KafkaStreamsCount {
    public static final class Transaction {
        public String tx_id, customer, ts;
        public double amount;
        public long due;
    }

    static final class Count implements Processor<String, String, String, String> {
        private final ObjectMapper json = new ObjectMapper();
        private ProcessorContext<String, String> context;
        private KeyValueStore<String, Long> counts;

        @Override public void init(ProcessorContext<String, String> context) {
            this.context = context;
            counts = context.getStateStore("counts");
        }

        @Override public void process(Record<String, String> record) {
            try {
                Transaction given = json.readValue(record.value(), Transaction.class);
                Long before = counts.get(given.customer);
                long now = before == null ? 1 : before + 1;
                counts.put(given.customer, now);
                context.forward(record.withValue("{\"customer\":\"" + given.customer + "\",\"n\":" + now + ",\"due\":" + given.due + "}"));
            } catch (java.io.IOException error) {
                throw new java.io.UncheckedIOException(error);
            }
        }
    }

    public static void main(String[] args) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, args[3]);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 10_000);
        settings.put(StreamsConfig.producerPrefix("linger.ms"), 2);
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        var text = Serdes.String();
        Topology topology = new Topology()
            .addSource("given", text.deserializer(), text.deserializer(), args[1])
            .addProcessor("count", Count::new, "given")
            .addStateStore(Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("counts"), text, Serdes.Long()), "count")
            .addSink("result", args[2], text.serializer(), text.serializer(), "count");
        KafkaStreams streams = new KafkaStreams(topology, settings);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }
}
