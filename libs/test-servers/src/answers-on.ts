import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from './eventually.js';
import type { OwnProcess } from './own-process.js';

/**
 * Resolves when a server sends `greeting` on its port. If `hello` is given, it is sent first.
 * @throws Error with the process's output if it ends, or sends no greeting within 10 s.
 */
export async function answersOn(
  port: number,
  server: OwnProcess,
  { greeting, hello }: { greeting: RegExp; hello?: string },
): Promise<void> {
  const attempt = async (): Promise<void> => {
    if (!server.isRunning()) return;
    const socket = connect({ port, host: '127.0.0.1' });
    try {
      await once(socket, 'connect');
      if (hello) socket.write(hello, 'latin1');
      const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(2_000) })) as [Buffer];
      if (!greeting.test(answer.toString())) throw new Error(`port ${port} answered ${answer.toString()}`);
    } finally {
      socket.destroy();
    }
  };
  await eventually(attempt, { withinMs: 10_000 }).catch((cause: unknown) => {
    throw new Error(`no answer on port ${port}; the server wrote:\n${server.output()}`, { cause });
  });
  if (!server.isRunning()) throw new Error(`the server ended at once and wrote:\n${server.output()}`);
}
