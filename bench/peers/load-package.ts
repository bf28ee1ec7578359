/** The peers' clients are packages for development: who only installed this one has none of them. */

/** @throws Error that says how to get it, when `name` is not installed */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const message = `the package ${name} is missing: npm install --no-save ${name}`;
    throw new Error(message, { cause: error });
  }
}
