/** What a pattern has that RE2 cannot run. */
export class UnsupportedPattern extends Error {}

const CLASS = /\[(?:\\.|[^\]\\])*\]/u;
const ESCAPE = /\\(?:u\{\w+\}|u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|u\w{4}|x\w\w|c\w|[pP]\{[^}]+\}|.)/u;
const GROUP = /\((?:\?(?:<?[=!]|<[^>]+>|:)?)?/u;
const COUNT = /\{\d[^}]*\}/u;
const anyOf = (...parts: RegExp[]): RegExp => new RegExp(parts.map(({ source }) => source).join('|'), 'gsu');
const TOKEN = anyOf(CLASS, ESCAPE, GROUP, COUNT, /\./u);
const MEMBER = anyOf(ESCAPE, /\[/u);

const ALL = '\\x00-\\x{10ffff}';
/** White space and line terminators. Those of RE2's \s are in ASCII alone. */
const SPACE = '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}';
const NO_SPACE =
  '\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}' +
  '\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}';
const NO_LINE_TERMINATOR = '[^\\n\\r\\x{2028}\\x{2029}]';

/**
 * Translates a pattern of ECMA-262 with the flag u, which must be valid, so that RE2 matches the same texts.
 * @throws UnsupportedPattern
 */
export const re2Of = (pattern: string): string =>
  pattern.replace(TOKEN, (token) => {
    switch (token[0]) {
      case '[':
        return classOf(token);
      case '\\':
        return escapeOf(token, false);
      case '(':
        return groupOf(token);
      case '{':
        // To RE2 a number with a leading zero is no count.
        return token.replace(/\b0+(?=\d)/g, '');
      default:
        return NO_LINE_TERMINATOR;
    }
  });

function classOf(token: string): string {
  if (token === '[]') return `[^${ALL}]`;
  if (token === '[^]') return `[${ALL}]`;
  const members = token.slice(1).replace(MEMBER, (member) => (member === '[' ? '\\[' : escapeOf(member, true)));
  return `[${members}`;
}

function escapeOf(token: string, inClass: boolean): string {
  switch (token[1]) {
    case 'b':
      // In a class it is the backspace.
      return inClass ? '\\x08' : token;
    case 's':
      return inClass ? SPACE : `[${SPACE}]`;
    case 'S':
      return inClass ? NO_SPACE : `[${NO_SPACE}]`;
    case 'c':
      return `\\x{${(token.charCodeAt(2) % 32).toString(16)}}`;
    case 'u':
    case 'x': {
      const units = token.match(/[\da-f]+/gi)!.map((hex) => parseInt(hex, 16));
      const code = units.length === 2 ? String.fromCharCode(...units).codePointAt(0)! : units[0]!;
      return `\\x{${code.toString(16)}}`;
    }
    case 'p':
    case 'P':
      return token.replace(/\{(?:General_Category|gc|Script|sc)=/, '{').replace('{ASCII}', '{Ascii}');
    default:
      if (/^\\[1-9k]/.test(token)) throw new UnsupportedPattern(`a backreference (${token}) is not supported`);
      return token;
  }
}

function groupOf(token: string): string {
  if (/[=!]$/.test(token))
    throw new UnsupportedPattern(`${token.includes('<') ? 'lookbehind' : 'lookahead'} ${token} is not supported`);
  if (token === '(?') throw new UnsupportedPattern('flags within a pattern are not supported');
  // Nobody asks what a group has captured, and names that RE2 does not know are valid here.
  return '(?:';
}
