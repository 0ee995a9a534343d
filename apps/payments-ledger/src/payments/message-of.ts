/** The first line of an error. The lines after it may contain an RPC server's URL, and with it a key. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]!;
