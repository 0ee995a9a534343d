import pg from 'pg';

/** Runs one statement on a connection of its own. */
export async function query<Row extends pg.QueryResultRow>(url: string, statement: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(statement)).rows;
  } finally {
    await client.end();
  }
}

export interface Inserts {
  /** Resolves after some commits. */
  readonly begun: Promise<void>;
  /** Resolves when the connection is gone. */
  readonly broken: Promise<void>;
  /** How many commits the server has confirmed so far. */
  acknowledged(): number;
}

/** Inserts 1, 2, 3 … into a new table `tally`, each in a commit of its own, until the connection breaks. */
export async function insertUntilBroken(url: string): Promise<Inserts> {
  const client = new pg.Client(url);
  client.on('error', () => {}); // the connection is meant to break
  await client.connect();
  await client.query('DROP TABLE IF EXISTS tally');
  await client.query('CREATE TABLE tally (n integer PRIMARY KEY)');
  let acknowledged = 0;
  const insertNext = async (): Promise<void> => {
    await client.query('INSERT INTO tally VALUES ($1)', [acknowledged + 1]);
    acknowledged += 1;
  };
  const insertMany = async (): Promise<void> => {
    while (acknowledged < 50) await insertNext();
  };
  const insertOn = async (): Promise<never> => {
    for (;;) await insertNext();
  };
  const begun = insertMany();
  return { begun, broken: begun.then(insertOn).catch(() => {}), acknowledged: () => acknowledged };
}
