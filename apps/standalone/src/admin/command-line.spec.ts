import type { AdminCommand } from './admin-command.js';
import { helpOf, readCommandLine } from './command-line.js';

const command = (values: Partial<AdminCommand>): AdminCommand => ({
  name: 'nothing',
  help: 'does nothing',
  run: async () => '',
  ...values,
});
const suspend = command({
  name: 'listing suspend',
  arguments: ['id|slug'],
  options: { reason: { help: 'why', required: true } },
});
const audit = command({
  name: 'audit',
  options: { last: { help: 'how many' }, all: { help: 'every one', isFlag: true } },
});
const read = (...words: string[]) => readCommandLine(words, [suspend, audit], 'ada');

describe('the command line of operators', () => {
  it('names a command, its arguments and options, and who asks', () => {
    expect(read('listing', 'suspend', 'weather', '--reason', 'a copy of another')).toEqual({
      command: suspend,
      input: { operator: 'ada', arguments: ['weather'], options: { reason: 'a copy of another' } },
    });
    expect(read('listing', 'suspend', '--reason=spam', 'weather', '--as', 'bob')?.input).toEqual({
      operator: 'bob',
      arguments: ['weather'],
      options: { reason: 'spam' },
    });
    expect(read('audit')?.input).toEqual({ operator: 'ada', arguments: [], options: {} });
    expect(read('audit', '--all')?.input).toEqual({ operator: 'ada', arguments: [], options: { all: 'all' } });
  });

  it('asks for help with nothing or --help', () => {
    expect(read()).toBeUndefined();
    expect(read('listing', 'suspend', '--help')).toBeUndefined();
    expect(helpOf([suspend])).toBe('  listing suspend <id|slug> --reason <text> [--as <name>]\n      does nothing');
    expect(helpOf([audit])).toContain('audit [--last <text>] [--all] [--as <name>]');
  });

  it.each([
    [['listing'], 'no such command'],
    [['listing', 'delete', 'x'], 'no such command'],
    [['listing', 'suspend', '--reason', 'x'], 'takes 1 arguments, not 0'],
    [['listing', 'suspend', 'a', 'b', '--reason', 'x'], 'takes 1 arguments, not 2'],
    [['listing', 'suspend', 'a'], '--reason is required'],
    [['listing', 'suspend', 'a', '--reason', ' '], '--reason is required'],
    [['listing', 'suspend', 'a', '--reason', 'x', '--as', ''], '--as must be'],
    [['audit', '--force', 'x'], "Unknown option '--force'"],
    [['audit', '--last'], '--last'],
    [['audit', '--all=x'], '--all'],
  ])('refuses %j', (words, problem) => {
    expect(() => read(...words)).toThrow(problem);
  });
});
