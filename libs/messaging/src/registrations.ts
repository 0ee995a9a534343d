/** A method that handles the messages of a contract. */
export interface HandlerRegistration<C> {
  contract: C;
  method: string | symbol;
}

/** Remembers a decorated method with its class, under the key of its kind of message. */
export function register(target: object, key: symbol, registration: HandlerRegistration<unknown>): void {
  const known = (Reflect.getOwnMetadata(key, target) as unknown[] | undefined) ?? [];
  Reflect.defineMetadata(key, [...known, registration], target);
}

export function read<C>(instance: object, key: symbol): HandlerRegistration<C>[] {
  return (
    (Reflect.getMetadata(key, Object.getPrototypeOf(instance) as object) as HandlerRegistration<C>[] | undefined) ?? []
  );
}
