export interface ReadEvent {
  name: string;
  data: string;
}

/**
 * Reads server-sent events as the marketplace writes them: fields with one space behind their colon, lines that end
 * by LF. Comments come as no event.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ReadEvent, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const frames = (rest + part.value).split('\n\n');
    rest = frames.pop()!;
    for (const frame of frames) {
      const lines = frame.split('\n');
      const valuesOf = (field: string): string[] =>
        lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2));
      const data = valuesOf('data');
      if (data.length > 0) yield { name: valuesOf('event')[0] ?? 'message', data: data.join('\n') };
    }
  }
}
