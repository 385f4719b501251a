import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** On Kafka Streams: its state in RocksDB and in a topic, a commit every ten seconds. The records have their key already. */
public final class OnKafkaStreams {
    static final class Step implements Processor<byte[], byte[], byte[], byte[]> {
        private final Work work;
        private ProcessorContext<byte[], byte[]> context;
        private KeyValueStore<String, Work.Memory> state;

        Step(Work work) {
            this.work = work;
        }

        @Override public void init(ProcessorContext<byte[], byte[]> context) {
            this.context = context;
            state = context.getStateStore("memory");
        }

        @Override public void process(Record<byte[], byte[]> given) {
            try {
                Work.Transaction record = Work.Transaction.read(given.value());
                Work.Memory kept = state.get(record.customer), memory = kept == null ? new Work.Memory() : kept;
                String line = work.step(memory, record);
                state.put(record.customer, memory);
                context.forward(given.withValue(line.getBytes(StandardCharsets.UTF_8)));
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }
    }

    private static Serde<Work.Memory> memories() {
        return Serdes.serdeFrom(
            (topic, memory) -> memory == null ? null : ByteBuffer.allocate(24).putLong(memory.n).putDouble(memory.most).putLong(memory.previous).array(),
            (topic, bytes) -> {
                if (bytes == null) return null;
                ByteBuffer buffer = ByteBuffer.wrap(bytes);
                Work.Memory memory = new Work.Memory();
                memory.n = buffer.getLong();
                memory.most = buffer.getDouble();
                memory.previous = buffer.getLong();
                return memory;
            });
    }

    public static void main(String[] args) {
        Work work = Work.of(args[0]);
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, args[2]);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[1]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, args[4]);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 10_000);
        settings.put(StreamsConfig.producerPrefix("linger.ms"), work.linger());
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        Serde<byte[]> bytes = Serdes.ByteArray();
        Topology topology = new Topology()
            .addSource("given", bytes.deserializer(), bytes.deserializer(), args[2])
            .addProcessor("step", () -> new Step(work), "given")
            .addStateStore(Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("memory"), Serdes.String(), memories()), "step")
            .addSink("result", args[3], bytes.serializer(), bytes.serializer(), "step");
        KafkaStreams streams = new KafkaStreams(topology, settings);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }
}
