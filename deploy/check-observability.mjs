#!/usr/bin/env node
/**
 * Checks deploy/observability. promtool accepts the rules, and their unit tests pass. In each mode, a real Prometheus
 * scrapes a running marketplace and evaluates every expression of all dashboards and rules. An expression may have no
 * result if nothing happened, but every metric and label in it must exist. Needs `npm run build` before, and Debian's
 * package prometheus.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  eventually,
  findProgram,
  freePort,
  startMarketplace,
  startOwnProcess,
  temporaryDirectory,
} from '@market/testing';
import yaml from 'js-yaml';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const OBSERVABILITY = join(PROJECT, 'deploy/observability');
const PAID_CALLS = 3;
/** Metrics of Prometheus itself. */
const OWN_METRICS = ['up', 'ALERTS'];
const KEYWORDS = ['and', 'or', 'unless'];
const SUFFIX = /_(bucket|count|sum)$/;

const prometheus = findProgram('prometheus', 'prometheus');
const promtool = findProgram('promtool', 'prometheus');
const rules = yaml.load(readFileSync(join(OBSERVABILITY, 'rules.yml'), 'utf8')).groups.flatMap((group) => group.rules);
const expressions = [...rules.map(({ expr }) => ({ from: 'rules.yml', expr })), ...dashboardExpressions()];

execFileSync(promtool, ['check', 'config', 'prometheus.yml'], { cwd: OBSERVABILITY, stdio: 'inherit' });
execFileSync(promtool, ['test', 'rules', 'rules.test.yml'], { cwd: OBSERVABILITY, stdio: 'inherit' });
everyAlarmIsTestedAndHasItsRunbook();
for (const mode of ['standalone', 'distributed']) await answersEveryExpression(mode);

function dashboardExpressions() {
  return readdirSync(join(OBSERVABILITY, 'dashboards')).flatMap((file) => {
    const { panels } = JSON.parse(readFileSync(join(OBSERVABILITY, 'dashboards', file), 'utf8'));
    return panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ from: `${file}, ${title}`, expr })));
  });
}

function everyAlarmIsTestedAndHasItsRunbook() {
  const { tests } = yaml.load(readFileSync(join(OBSERVABILITY, 'rules.test.yml'), 'utf8'));
  const ringing = tests
    .flatMap((test) => test.alert_rule_test)
    .filter(({ exp_alerts: alerts }) => alerts.length > 0)
    .map(({ alertname }) => alertname);
  for (const { alert, annotations } of rules.filter((rule) => rule.alert)) {
    assert.ok(ringing.includes(alert), `no test lets ${alert} ring`);
    assert.ok(existsSync(join(PROJECT, annotations.runbook)), `${alert}: there is no ${annotations.runbook}`);
  }
}

async function answersEveryExpression(mode) {
  const marketplace = await startMarketplace({ mode, env: { PAYMENTS_LEDGER_SAMPLE_INTERVAL_MS: '500' } });
  const work = await temporaryDirectory('prometheus');
  const targets = marketplace.processes.map((name) => new URL(marketplace.internalUrl(name)).host);
  const port = await freePort();
  writeFileSync(join(work, 'prometheus.yml'), configFor(targets));
  const server = startOwnProcess(prometheus, [
    `--config.file=${join(work, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(work, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const ask = async (path) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const body = await response.json();
    assert.equal(body.status, 'success', `${path}: ${body.error}`);
    return body.data;
  };
  const query = async (expr) => (await ask(`query?query=${encodeURIComponent(expr)}`)).result;
  try {
    await eventually(async () => assert.equal((await query('up{job="market"} == 1')).length, targets.length), {
      withinMs: 20_000,
    });
    for (let call = 0; call < PAID_CALLS; call += 1)
      execFileSync(process.execPath, [join(PROJECT, 'deploy/smoke-call.mjs')], {
        env: { ...process.env, BASE_URL: marketplace.baseUrl },
      });
    await eventually(
      async () =>
        assert.equal(Number((await query('sum(market_call_steps_total{step="settled"})'))[0]?.value[1]), PAID_CALLS),
      { withinMs: 20_000 },
    );
    await eventually(async () => assert.ok((await query('market:http_errors:ratio_rate6h')).length > 0), {
      withinMs: 20_000,
    });
    const texts = await Promise.all(targets.map(async (host) => (await fetch(`http://${host}/metrics`)).text()));
    const known = seriesIn(texts.join('\n'));
    let answered = 0;
    for (const { from, expr } of expressions) {
      const result = await query(expr.replaceAll('$__rate_interval', '1m'));
      if (result.length > 0) answered += 1;
      else namesOnlyWhatExists(from, expr, known);
    }
    assert.ok(
      answered > expressions.length / 2,
      `only ${answered} of ${expressions.length} expressions found anything`,
    );
    const unhealthy = (await ask('rules')).groups
      .flatMap((group) => group.rules)
      .filter(({ health }) => health !== 'ok');
    assert.deepEqual(unhealthy, []);
    const alarms = (await ask('alerts')).alerts.map(({ labels }) => labels.alertname);
    assert.deepEqual(alarms, [], 'a marketplace that is well rings no alarm');
    console.log(
      `${mode}: ${expressions.length} expressions, ${answered} found something, the others had nothing to find`,
    );
  } finally {
    await server.stop();
    await marketplace.stop();
    rmSync(work, { recursive: true });
  }
}

/** The example configuration with other targets and intervals. */
function configFor(targets) {
  const config = yaml.load(readFileSync(join(OBSERVABILITY, 'prometheus.yml'), 'utf8'));
  const [{ job_name }] = config.scrape_configs;
  return yaml.dump({
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: config.rule_files.map((file) => join(OBSERVABILITY, file)),
    scrape_configs: [{ job_name, static_configs: [{ targets }] }],
  });
}

/** Returns metrics by name, each with the labels of its series; without labels if it has no series yet. */
function seriesIn(text) {
  const known = new Map();
  for (const line of text.split('\n')) {
    const [, declared] = /^# TYPE (\w+)/.exec(line) ?? [];
    if (declared && !known.has(declared)) known.set(declared, new Set());
    const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
    const metric = name && (known.get(name) ?? known.get(name.replace(SUFFIX, '')));
    if (metric) for (const [, label] of labels.matchAll(/(\w+)="/g)) metric.add(label);
  }
  return known;
}

/** Checks the metrics and labels in an expression. Functions, keywords and grouping labels are ignored. */
function namesOnlyWhatExists(from, expr, known) {
  const bare = expr.replaceAll(/\bby \([^)]*\)|\[[^\]]*\]/g, '');
  for (const [, name, matchers = ''] of bare.matchAll(/(?<![:\w])([A-Za-z_]\w*)(?![:\w])(?!\s*\()(\{[^}]*\})?/g)) {
    if (KEYWORDS.includes(name) || OWN_METRICS.includes(name)) continue;
    const labels = known.get(name) ?? known.get(name.replace(SUFFIX, ''));
    assert.ok(labels, `${from}: there is no metric ${name}`);
    for (const [, label] of matchers.matchAll(/(\w+)\s*[=!]/g))
      assert.ok(labels.size === 0 || label === 'job' || labels.has(label), `${from}: ${name} has no label ${label}`);
  }
}
