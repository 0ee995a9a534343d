/**
 * Enough of a builder to run our Dockerfile without a container engine: each stage is an overlay over this machine's own
 * root, so what stands in for the base image is this system and its Node. Needs a mount namespace of one's own.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param {{ file: string, context: string, work: string }} paths the Dockerfile, the build context, and an empty directory.
 * @returns the last stage: `root`, a directory that can be entered by chroot, and what it says of a container's start.
 */
export function buildImage({ file, context, work }) {
  const stages = new Map();
  let stage;
  for (const { name, value } of instructionsOf(readFileSync(file, 'utf8'))) {
    process.stdout.write(`  ${name} ${value}\n`);
    if (name === 'FROM') {
      const [base, , alias] = value.split(' ');
      stage = startStage(join(work, alias), stages.get(base));
      stages.set(alias, stage);
    } else if (!STEPS[name]) throw new Error(`${name} is not known to deploy/docker/dockerfile.mjs`);
    else if (stage) STEPS[name](stage, value, { context, stages });
  }
  return stage;
}

const STEPS = {
  ARG() {},
  EXPOSE() {},
  VOLUME() {},
  WORKDIR(stage, path) {
    stage.workdir = path;
    mkdirSync(join(stage.root, path), { recursive: true });
  },
  ENV(stage, assignments) {
    Object.assign(stage.env, Object.fromEntries(assignments.split(' ').map((assignment) => assignment.split('='))));
  },
  USER(stage, user) {
    stage.user = user;
  },
  CMD(stage, command) {
    stage.command = JSON.parse(command);
  },
  RUN(stage, command) {
    const [file, ...args] = entering(stage, ['sh', '-c', command]);
    run(file, args, { PATH: process.env.PATH, HOME: '/root', ...stage.env });
  },
  COPY(stage, value, { context, stages }) {
    const [target, source, from] = value.split(' ').reverse();
    const to = join(stage.root, stage.workdir, target);
    if (!from) return copyContext(context, to);
    cpSync(join(stages.get(from.replace('--from=', '')).root, source), to, { recursive: true, verbatimSymlinks: true });
  },
};

/** The command line that runs a command where a container of this stage would, as its user. */
export function entering({ root, workdir, user }, command) {
  const as = user ? [`--userspec=${user}`, '--groups='] : [];
  return ['chroot', ...as, root, 'sh', '-c', 'cd "$0" && exec "$@"', workdir, ...command];
}

/** @throws Error when the command does not end with 0. */
export function run(file, args, env = process.env) {
  const { status } = spawnSync(file, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`ended with ${status}: ${[file, ...args].join(' ')}`);
}

function startStage(directory, base) {
  const [upper, scratch, root] = ['upper', 'scratch', 'root'].map((name) => join(directory, name));
  [upper, scratch, root].forEach((path) => mkdirSync(path, { recursive: true }));
  if (base) run('cp', ['--archive', `${base.upper}/.`, upper]);
  run('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=/,upperdir=${upper},workdir=${scratch}`, root]);
  for (const path of ['/proc', '/dev', '/sys']) run('mount', ['--rbind', path, join(root, path)]);
  return { root, upper, workdir: base?.workdir ?? '/', env: { ...base?.env }, user: base?.user, command: base?.command };
}

function instructionsOf(text) {
  const lines = text.replaceAll(/^\s*#.*\n/gm, '').replaceAll('\\\n', ' ').split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => ({ name: line.slice(0, line.indexOf(' ')), value: line.slice(line.indexOf(' ') + 1).trim() }));
}

/** What .dockerignore lets in: the last pattern that matches a path, or a folder above it, decides. */
function copyContext(context, target) {
  const patterns = readFileSync(join(context, '.dockerignore'), 'utf8').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const rules = patterns.map((pattern) => ({ letsIn: pattern.startsWith('!'), matches: expressionOf(pattern.replace(/^!/, '')) }));
  const isIgnored = (path) => rules.reduce((ignored, { letsIn, matches }) => (matches.test(path) ? !letsIn : ignored), false);
  const holdsException = (folder) => patterns.some((pattern) => pattern.startsWith(`!${folder}/`));
  const copyFolder = (folder) => {
    for (const entry of readdirSync(join(context, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!isIgnored(path) || holdsException(path)) copyFolder(path);
      } else if (!isIgnored(path)) cpSync(join(context, path), join(target, path));
    }
  };
  copyFolder('');
}

function expressionOf(pattern) {
  const source = pattern.replaceAll(/\*\*\/|\*|[.+?^${}()|[\]\\]/g, (part) => ({ '**/': '(?:.*/)?', '*': '[^/]*' })[part] ?? `\\${part}`);
  return new RegExp(`^${source}(?:/|$)`);
}
