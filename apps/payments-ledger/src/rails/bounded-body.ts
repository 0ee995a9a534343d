/** Returns the text of an HTTP answer. @throws Error if the answer is aborted or larger than `mostBytes`. */
export async function textOf(response: Response, mostBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > mostBytes) break;
      chunks.push(chunk);
    }
  } catch {
    throw new Error('breaks off');
  }
  if (size > mostBytes) throw new Error(`is larger than ${mostBytes} bytes`);
  return Buffer.concat(chunks).toString('utf8');
}
