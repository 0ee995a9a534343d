import { existsSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../../../', import.meta.url);

it('each way to pay in docs/paying.md names the tests that prove it, and they exist', () => {
  const page = readFileSync(new URL('docs/paying.md', ROOT), 'utf8');
  const [, table] = page.split('| who | by | requests | gas | test |\n|---|---|---|---|---|\n');
  const rows = table!.split('\n\n')[0]!.split('\n');
  expect(rows.length).toBeGreaterThan(8);
  for (const row of rows) {
    const named = [
      ...row
        .split('|')
        .at(-2)!
        .matchAll(/`([a-z0-9-]+)`/g),
    ].map(([, name]) => name!);
    expect([row, named.length > 0]).toEqual([row, true]);
    for (const name of named)
      expect([
        name,
        existsSync(new URL(`apps/standalone/test/e2e/${name}.e2e-spec.ts`, ROOT)) ||
          existsSync(new URL(`apps/payments-ledger/test/integration/${name}.int-spec.ts`, ROOT)),
      ]).toEqual([name, true]);
  }
});
