/** The first line of an error: what follows it may name an RPC server's URL, and with it a key. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]!;
