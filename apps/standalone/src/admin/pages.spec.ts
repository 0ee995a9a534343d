import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repository } from '../docs/generated-documents.js';
import { readCommandLine } from './command-line.js';
import { adminCommands } from './commands.js';

const pages = ['docs', 'deploy', 'apps', 'libs', 'bench'].flatMap((directory) =>
  readdirSync(join(repository, directory), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !file.includes('node_modules'))
    .map((file) => join(directory, file)),
);
const textOf = (page: string): string => readFileSync(join(repository, page), 'utf8');

/** What a page tells an operator to type after `market-admin`: in `code`, or as a line of a block of code. */
const commandsIn = (text: string): string[] => {
  const blocks = text.split(/^ *```.*$/m);
  const typed = blocks.flatMap((part, n) =>
    n % 2 === 0 ? [...part.matchAll(/`([^`]+)`/g)].map(([, code]) => code!.replaceAll(/\s+/g, ' ')) : part.split('\n'),
  );
  return typed
    .flatMap((line) => /^(?:.*\s)?market-admin (.+)$/.exec(line)?.[1] ?? [])
    .filter((command) => command !== '<command>' && command !== '…');
};

/** As a shell splits it, without comments and redirections; `<id>` is a word, and `…` stands for what differs. */
const wordsOf = (command: string): string[] =>
  (/^(.*?)(?:\s+#.*|\s+> .*)?$/.exec(command)![1]!.match(/'[^']*'|<[^>]*>|\S+/g) ?? [])
    .filter((word) => word !== '…')
    .map((word) => word.replaceAll("'", ''));

/** The links of a page to files and headings of the project. */
const linksIn = (text: string): string[] =>
  [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target]) => target!);

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (page: string): string[] =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );

describe('the pages', () => {
  it('link only to files and headings that exist', () => {
    const links = [...pages, 'README.md'].flatMap((page) => linksIn(textOf(page)).map((target) => ({ page, target })));
    expect(links.length).toBeGreaterThan(100);
    const broken = links.filter(({ page, target }) => {
      const [path, anchor] = target.split('#', 2);
      const file = path ? join(dirname(page), path) : page;
      if (anchor === undefined) return !existsSync(join(repository, file));
      return !file.endsWith('.md') || !existsSync(join(repository, file)) || !anchorsOf(file).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it.each(pages.flatMap((page) => commandsIn(textOf(page)).map((command) => [page, command])))(
    '%s names a command that exists: market-admin %s',
    (_page, command) => {
      expect(readCommandLine(wordsOf(command), adminCommands, 'ada')).toBeDefined();
    },
  );

  it('name only scripts of npm that exist', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
    const named = [...pages, 'README.md'].flatMap((page) =>
      [...textOf(page).matchAll(/npm run (?:-s )?([a-z]+(?::[a-z]+)*)/g)].map(([, script]) => `${page}: ${script}`),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !(name.split(': ')[1]! in scripts))).toEqual([]);
  });
});
