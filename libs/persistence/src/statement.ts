/** A prepared statement: parsed and planned once a connection, then known there by its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

const texts = new Map<string, string>();

/** Names a statement; one name, one text. `name` is `<table or topic>.<what it does>`. */
export function sql(name: string, text: string): Statement {
  const known = texts.get(name);
  if (known !== undefined && known !== text) throw new Error(`two statements are called ${name}`);
  texts.set(name, text);
  return { name, text };
}
