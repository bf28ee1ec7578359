/** The part of the package that is used here; it brings no types of its own. */
declare module "node-zookeeper-client" {
  type Callback<T> = (error: Error | null, result: T) => void;

  export interface ZooKeeperClient {
    connect(): void;
    close(): void;
    once(event: "connected" | "disconnected" | "expired", listener: () => void): void;
    create(path: string, data: Buffer | null, mode: number, callback: Callback<string>): void;
    remove(path: string, version: number, callback: (error: Error | null) => void): void;
    exists(path: string, watcher: () => void, callback: Callback<object | null>): void;
    getChildren(path: string, callback: Callback<string[]>): void;
    mkdirp(path: string, callback: Callback<string>): void;
  }

  interface Module {
    createClient(
      servers: string,
      options: { readonly sessionTimeout: number; readonly retries: number },
    ): ZooKeeperClient;
    readonly CreateMode: { readonly EPHEMERAL_SEQUENTIAL: number };
    readonly Exception: { readonly NO_NODE: number };
  }

  const module: Module;
  export default module;
}
