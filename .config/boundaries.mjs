import { cruise } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { createRequire } from 'node:module';

/** Checks the imports between packages, then the rules themselves: each must report the fixture that violates it. */
const rules = createRequire(import.meta.url)('./dependency-cruiser.cjs');
const RULES = [
  'no-app-imports-another-app',
  'tests-compose-service-values-only',
  'no-lib-imports-app',
  'kernel-depends-on-nothing',
  'contracts-depend-on-kernel-and-zod',
  'sdk-stands-alone',
  'console-knows-the-interface-alone',
  'edge-has-no-database',
  'no-tests-in-sources',
  'relay-stands-beside',
  'payouts-stand-beside',
  'backup-stands-beside',
  'operator-console-stands-beside',
  'no-circular',
  'standalone-imports-service-values-only',
  'not-resolvable',
];

async function violationsIn(baseDir) {
  const { tsConfig, enhancedResolveOptions, ...options } = rules.options;
  const { output } = await cruise(
    ['apps', 'libs'],
    { ...options, ruleSet: { forbidden: rules.forbidden }, validate: true, baseDir },
    enhancedResolveOptions,
    { tsConfig: extractTSConfig(tsConfig.fileName) },
  );
  return output.summary.violations.map((violation) => ({
    rule: violation.rule.name,
    from: violation.from,
    to: violation.to,
  }));
}

const broken = await violationsIn(process.cwd());
for (const { rule, from, to } of broken) console.error(`${rule}: ${from} -> ${to}`);

const caught = new Set((await violationsIn(`${process.cwd()}/.config/fixtures/boundaries`)).map(({ rule }) => rule));
const unmatched = RULES.filter((rule) => !caught.has(rule));
for (const rule of unmatched) console.error(`${rule} did not bite on .config/fixtures/boundaries`);

if (broken.length > 0 || unmatched.length > 0) process.exit(1);
console.log(`boundaries hold; ${RULES.length} rules bite on the fixture`);
