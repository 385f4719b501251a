import java.io.IOException;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.serialization.AbstractDeserializationSchema;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.producer.ProducerRecord;

/** On Flink: state in RocksDB unless -Dstate says otherwise, a checkpoint every ten seconds; where latency counts, a record waits at most 5 ms in a buffer. */
public final class OnFlink {
    static final class Step extends KeyedProcessFunction<String, Work.Transaction, Work.Row> {
        private final String name;
        private transient Work work;
        private transient ValueState<Work.Memory> state;

        Step(String name) {
            this.name = name;
        }

        @Override public void open(OpenContext context) {
            work = Work.of(name);
            state = getRuntimeContext().getState(new ValueStateDescriptor<>("memory", Types.POJO(Work.Memory.class)));
        }

        @Override public void processElement(Work.Transaction record, Context context, Collector<Work.Row> out) throws IOException {
            Work.Memory kept = state.value(), memory = kept == null ? new Work.Memory() : kept;
            String line = work.step(memory, record);
            state.update(memory);
            out.collect(Work.Row.of(record.customer, line));
        }
    }

    static final class Read extends AbstractDeserializationSchema<Work.Transaction> {
        @Override public Work.Transaction deserialize(byte[] line) throws IOException {
            return Work.Transaction.read(line);
        }
    }

    public static void main(String[] args) throws Exception {
        String name = args[0], servers = args[1], given = args[2], result = args[3], place = args[4];
        Configuration settings = new Configuration();
        settings.setString("state.backend.type", System.getProperty("state", "rocksdb"));
        settings.setString("execution.checkpointing.dir", "file://" + place);
        settings.setString("execution.checkpointing.incremental", "true");
        settings.setString("rest.bind-address", "127.0.0.1");
        StreamExecutionEnvironment flink = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        flink.setParallelism(2);
        flink.getConfig().enableObjectReuse();
        flink.enableCheckpointing(10_000);
        flink.setBufferTimeout(name.equals("count") ? 5 : 100);
        KafkaSource<Work.Transaction> source = KafkaSource.<Work.Transaction>builder().setBootstrapServers(servers).setTopics(given)
            .setGroupId(given).setStartingOffsets(OffsetsInitializer.earliest()).setValueOnlyDeserializer(new Read()).build();
        KafkaRecordSerializationSchema<Work.Row> write = (row, context, time) -> new ProducerRecord<>(result, row.key(), row.value());
        KafkaSink<Work.Row> sink = KafkaSink.<Work.Row>builder().setBootstrapServers(servers)
            .setProperty("linger.ms", Integer.toString(Work.of(name).linger())).setRecordSerializer(write)
            .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE).build();
        flink.fromSource(source, WatermarkStrategy.noWatermarks(), "given")
            .keyBy(record -> record.customer)
            .process(new Step(name))
            .sinkTo(sink);
        flink.execute(name);
    }
}
