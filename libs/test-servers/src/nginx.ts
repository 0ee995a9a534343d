import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { answersOn } from './answers-on.js';
import { freePort } from './free-port.js';
import { findProgram, startOwnProcess } from './own-process.js';
import { temporaryDirectory } from './temporary-directory.js';

export interface Nginx {
  readonly url: string;
  /** Its error log. */
  logs(): string;
  stop(): Promise<void>;
}

/**
 * Starts a separate nginx on a free port of this machine, with the defaults of its package.
 * @param http what stands in its `http` block, with the port that its `server` listens on.
 */
export async function startNginx(http: (listen: string) => string): Promise<Nginx> {
  const program = findProgram('nginx', 'nginx-light');
  const directory = await temporaryDirectory('nginx');
  const port = await freePort();
  const file = join(directory, 'nginx.conf');
  for (const name of ['body', 'proxy', 'fastcgi', 'scgi', 'uwsgi']) await mkdir(join(directory, name));
  await writeFile(
    file,
    `daemon off; master_process off; pid ${directory}/pid; error_log stderr warn;
     events { worker_connections 1024; }
     http {
       access_log off;
       client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy;
       fastcgi_temp_path ${directory}/fastcgi; scgi_temp_path ${directory}/scgi; uwsgi_temp_path ${directory}/uwsgi;
       ${http(`127.0.0.1:${port}`)}
     }`,
  );
  const server = startOwnProcess(program, ['-p', directory, '-c', file]);
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
  await answersOn(port, server, { hello: 'GET / HTTP/1.0\r\n\r\n', greeting: /^HTTP\/1\.1 / }).catch(
    async (error: unknown) => {
      await stop();
      throw error;
    },
  );
  return { url: `http://127.0.0.1:${port}`, logs: () => server.output(), stop };
}

/** Starts an nginx that balances over the processes of an edge. */
export const startBalancer = (edgeUrls: readonly string[]): Promise<Nginx> =>
  startNginx(
    (listen) => `upstream edges {
      ${edgeUrls.map((url) => `server ${new URL(url).host} max_fails=0;`).join(' ')}
      keepalive 32;
    }
    server {
      listen ${listen};
      location / {
        proxy_pass http://edges;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_read_timeout 160s;
      }
    }`,
  );
