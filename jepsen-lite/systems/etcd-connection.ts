/** How clients of a run talk to etcd: each call to any of the members, once, with a time limit. */
import { Etcd3, type IOptions } from "etcd3";

const ANSWER_MS_MAX = 700;

type Policy = NonNullable<NonNullable<IOptions["faultHandling"]>["global"]>;
const NOBODY = { dispose: () => undefined };
/** Every call goes through, once. */
const PASS: Policy = {
  _altReturn: undefined as never,
  onSuccess: () => NOBODY,
  onFailure: () => NOBODY,
  execute: async (act, signal = new AbortController().signal) => act({ signal }),
};

export function connectEtcd(endpoints: readonly string[]): Etcd3 {
  return new Etcd3({
    hosts: endpoints.map((endpoint) => `http://${endpoint}`),
    // A subchannel of its own for each client, so that a fault can hit it alone.
    grpcOptions: { "grpc.use_local_subchannel_pool": 1 },
    defaultCallOptions: ({ isStream }) => (isStream ? {} : { deadline: deadline() }),
    // Its circuit breakers would avoid a member for seconds after it came back.
    faultHandling: { global: PASS, host: () => PASS },
  });
}

export function deadline(): number {
  return Date.now() + ANSWER_MS_MAX;
}
