import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const logger = new URL('logger.ts', import.meta.url).href;

/** Starts a process that logs and then executes `rest`. */
function start(rest: string) {
  const script = `import { PinoLogger } from '${logger}';
    const logger = new PinoLogger('test', { default: 'info', components: {} });
    const other = new PinoLogger('other', { default: 'info', components: {} });
    const log = (times) => { for (let n = 0; n < times; n += 1) (n % 2 ? other : logger).log({ n }, 'Test'); };
    ${rest}`;
  const child = spawn(
    process.execPath,
    [
      ...['--conditions=@market/source', '--import', './.config/typescript.mjs', '--input-type=module'],
      ...['--eval', script],
    ],
    { cwd: repository, stdio: ['pipe', 'pipe', 'ignore'] },
  );
  return { child, lines: createInterface({ input: child.stdout }) };
}

describe('PinoLogger', () => {
  it.each([
    ['exits in order', 'log(2_000); process.exit(0);', 0],
    ['has nothing more to do', 'log(2_000);', 0],
    ['throws what nobody catches', 'log(2_000); throw new Error("uncaught");', 1],
    ['rejects what nobody catches', 'log(2_000); await Promise.reject(new Error("uncaught"));', 1],
  ])('loses no line of a process that %s', async (_title, rest, code) => {
    const { child, lines } = start(rest);
    const exited = once(child, 'exit');
    const read: unknown[] = [];
    for await (const line of lines) read.push((JSON.parse(line) as { n: number }).n);
    expect(read).toEqual(Array.from({ length: 2_000 }, (_, n) => n));
    expect(await exited).toEqual([code, null]);
  });

  it('shows a line while the process lives, and a fatal one, with what came before, though it is killed at once', async () => {
    const { child, lines } = start(
      'log(1); process.stdin.once("data", () => { log(1); logger.fatal("over", "Test"); process.kill(process.pid, "SIGKILL"); });',
    );
    const shown = lines[Symbol.asyncIterator]();
    expect(JSON.parse((await shown.next()).value!)).toMatchObject({
      level: 30,
      service: 'test',
      context: 'Test',
      n: 0,
    });
    child.stdin.write('now');
    expect(JSON.parse((await shown.next()).value!)).toMatchObject({ n: 0 });
    expect(JSON.parse((await shown.next()).value!)).toMatchObject({ level: 60, msg: 'over' });
  });
});
