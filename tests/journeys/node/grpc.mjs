// Asks over gRPC with Node's own library and the proto files as they lie there: grpc.mjs ADDRESS KEY PROTO_FOLDER.
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const [address, key, folder] = process.argv.slice(2);
const files = ["query", "query_service"].map((name) => `querybus/v1/${name}.proto`);
const definition = await loader.load(files, { includeDirs: [folder], keepCase: true, longs: Number, enums: String });
const { QueryService } = grpc.loadPackageDefinition(definition).querybus.v1;
const client = new QueryService(address, grpc.credentials.createInsecure());
const metadata = new grpc.Metadata();
metadata.set("authorization", `Bearer ${key}`);
const call = (name, request, given = metadata) =>
  new Promise((resolve, reject) => client[name](request, given, (error, reply) => (error ? reject(error) : resolve(reply))));
const all = async (stream) => {
  const received = [];
  for await (const item of stream) received.push(item);
  return received;
};

const asked = await call("Ask", { question: { question: "How many customers are there?" }, wait_seconds: 20 });
const query = asked.query.id;
const events = await all(client.Follow({ query_id: query }, metadata));
const file = await all(client.ExportResult({ query_id: query, format: "EXPORT_FORMAT_CSV" }, metadata));
const refused = await call("Ask", { question: { question: "" } }).catch((error) => grpc.status[error.code]);
const nobody = await call("GetQuery", { query_id: query }, new grpc.Metadata()).catch((error) => grpc.status[error.code]);
console.log(JSON.stringify({ asked, events, file: Buffer.concat(file.map((item) => item.data)).toString(), refused, nobody }));
client.close();
