/**
 * Builds the image (see dockerfile.mjs), then lets its containers run where they would not notice the difference: on a
 * root that cannot be written, as its user, in a network of their own. Takes an empty directory to work in; run through
 * deploy/check-image-steps.sh.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROJECT } from './compose.mjs';
import { buildImage, run } from './dockerfile.mjs';

const [work] = process.argv.slice(2);
const image = buildImage({ file: join(PROJECT, 'deploy/docker/Dockerfile'), context: PROJECT, work });
furnish(image);
const handover = join(work, 'image.json');
writeFileSync(handover, JSON.stringify(image));
run('unshare', ['--net', '--pid', '--fork', '--kill-child', '--mount-proc', process.execPath, fileURLToPath(new URL('run-containers.mjs', import.meta.url)), handover]);

/** What the base image and the engine bring: the user, the names of the other containers, places to write. */
function furnish({ root, user }) {
  const [uid, gid] = user.split(':');
  const users = join(root, 'etc/passwd');
  if (!readFileSync(users, 'utf8').includes(`:x:${uid}:`)) appendFileSync(users, `node:x:${uid}:${gid}::/home/node:/bin/sh\n`);
  appendFileSync(join(root, 'etc/hosts'), '\n127.0.0.1 postgres nats redis\n');
  run('mount', ['-o', 'remount,ro', root]);
  run('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'tmpfs', join(root, 'tmp')]);
  run('mount', ['-t', 'tmpfs', '-o', `mode=0700,uid=${uid},gid=${gid}`, 'tmpfs', join(root, 'data')]);
}
