import pg from 'pg';

/**
 * Runs work on a separate connection. If the server disconnects between two statements, the next statement fails
 * instead of the process.
 */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
