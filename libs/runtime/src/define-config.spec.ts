import {
  baseUrl,
  choice,
  ConfigError,
  defineConfig,
  flag,
  integer,
  optional,
  text,
  url,
  variable,
} from './define-config.js';

const config = defineConfig('test', {
  name: variable('TEST_NAME', text(), 'what it is called'),
  count: variable('TEST_COUNT', integer(1, 10, 3), 'how many'),
  on: variable('TEST_ON', flag(false), 'whether'),
  colour: variable('TEST_COLOUR', choice(['red', 'green'], 'red'), 'which'),
  home: variable('TEST_HOME', url('http://localhost:3000'), 'where'),
  spare: variable('TEST_SPARE', optional(integer(0, 5)), 'maybe'),
});

describe('a configuration', () => {
  it('is typed values, with defaults where nothing is set or something is set to nothing', () => {
    const problems: string[] = [];
    expect(config.parse({ TEST_NAME: 'Ada', TEST_COUNT: '', TEST_ON: 'true', TEST_SPARE: '5' }, problems)).toEqual({
      name: 'Ada',
      count: 3,
      on: true,
      colour: 'red',
      home: 'http://localhost:3000',
      spare: 5,
    });
    expect(problems).toEqual([]);
  });

  it('appends paths to a base URL, whatever slashes it was given with', () => {
    const address = defineConfig('test', { base: variable('TEST_BASE', baseUrl('http://localhost:3000'), 'where') });
    const baseOf = (env: Record<string, string>): string => address.parse(env, []).base;
    expect(baseOf({})).toBe('http://localhost:3000');
    expect(baseOf({ TEST_BASE: 'https://market.example//' })).toBe('https://market.example');
    expect(baseOf({ TEST_BASE: 'https://market.example/shop/' })).toBe('https://market.example/shop');
  });

  it('names every wrong variable with its reason, and no value', () => {
    const problems: string[] = [];
    const secret = 'hunter2';
    config.parse(
      { TEST_COUNT: secret, TEST_ON: secret, TEST_COLOUR: secret, TEST_HOME: secret, TEST_SPARE: secret },
      problems,
    );
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'TEST_NAME',
      'TEST_COUNT',
      'TEST_ON',
      'TEST_COLOUR',
      'TEST_HOME',
      'TEST_SPARE',
    ]);
    expect(problems[0]).toBe('TEST_NAME: is required (what it is called)');
    expect(problems.join()).not.toContain(secret);
  });

  it.each(['0', '11', '1.5', '1e1', ' 3', '0x3', 'NaN', '99999999999999999999'])(
    'takes no number %p where a whole one from 1 to 10 is meant',
    (value) => {
      const problems: string[] = [];
      config.parse({ TEST_NAME: 'Ada', TEST_COUNT: value }, problems);
      expect(problems.length).toBe(1);
    },
  );

  it('error lists one problem a line', () => {
    expect(new ConfigError(['A: is required', 'B: must be true or false']).message).toBe(
      'the configuration is not usable:\n  - A: is required\n  - B: must be true or false',
    );
  });
});
