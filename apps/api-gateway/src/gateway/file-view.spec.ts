import { dispositionOf, wantsBytes, wouldRun } from './file-view.js';

describe('wantsBytes', () => {
  it.each([
    ['image/png', true],
    ['image/*', true],
    ['application/octet-stream', true],
    ['application/json;q=0.5, image/png', true],
    ['text/html, image/*;q=0.8, */*;q=0.5', true],
    ['application/octet-stream;q=0.1', true],
    [undefined, false],
    ['*/*', false],
    ['application/json', false],
    ['application/json, image/png', false],
    ['application/json, image/png;q=0.9', false],
    ['image/png;q=0', false],
    ['image/png;q=nonsense', false],
    ['image/jpeg', false],
    ['text/event-stream', false],
  ])('of Accept: %s for a png is %p', (accept, expected) => {
    expect(wantsBytes(accept, 'image/png')).toBe(expected);
  });

  it('looks at no parameters of the type', () => {
    expect(wantsBytes('text/csv', 'Text/CSV; charset=utf-8; header=present')).toBe(true);
  });
});

it.each([
  ['image/png', 'inline; filename="id.png"'],
  ['text/plain; charset=utf-8', 'inline; filename="id.txt"'],
  ['audio/mpeg', 'inline; filename="id.mp3"'],
  ['image/svg+xml', 'attachment; filename="id.svg"'],
  ['application/pdf', 'attachment; filename="id.pdf"'],
  ['text/html', 'attachment; filename="id.html"'],
  ['application/x-unknown', 'attachment; filename="id.bin"'],
])('a file of type %s is shown as %s', (contentType, expected) => {
  expect(dispositionOf('id', contentType)).toBe(expected);
});

it.each([
  ['text/javascript', 'script', true],
  ['application/javascript', 'serviceworker', true],
  ['text/css', 'style', true],
  ['application/wasm', 'script', true],
  ['image/svg+xml', 'style', true],
  ['text/javascript', 'empty', false],
  ['text/javascript', undefined, false],
  ['image/png', 'script', false],
])('%s for %s is run: %p', (contentType, destination, expected) => {
  expect(wouldRun(contentType, destination)).toBe(expected);
});
