/** The peers' clients are development packages: an installation without them has none. */

/** @throws Error that says how to install it, if `name` is not installed */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const message = `the package ${name} is missing: npm install --no-save ${name}`;
    throw new Error(message, { cause: error });
  }
}
