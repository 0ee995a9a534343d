import { listingExample } from '../listings/listings.examples.js';
import { bazaarResource, toResource } from './bazaar-resource.js';
import { resourceExample } from './discovery.examples.js';

const resourceOf = (changes: Partial<typeof listingExample>) =>
  toResource('https://market.test', { ...listingExample, ...changes }, [], 'http');

describe('a listing as facilitators list it', () => {
  it('is called where no key is needed', () => {
    expect(bazaarResource.parse(resourceExample)).toEqual(resourceExample);
    expect(resourceExample.resource).toBe(`https://market.example/api/v1/x402/${listingExample.slug}`);
    expect(resourceExample.accepts).toEqual([
      {
        scheme: 'exact',
        network: 'eip155:84532',
        amount: '20000',
        asset: expect.any(String),
        payTo: '0x52908400098527886E0F7030069857D2E4169EE7',
        maxTimeoutSeconds: 600,
        extra: { name: 'USDC', version: '2' },
      },
    ]);
  });

  it('accepts nothing where no signed authorization pays its price', () => {
    expect(resourceOf({}).accepts).toEqual([]);
  });

  it.each(['Größe', 'x'.repeat(33), 'a\nb'])(
    'leaves out the service name %p, which the protocol has no room for',
    (name) => {
      const resource = resourceOf({ name });
      expect(resource).not.toHaveProperty('serviceName');
      expect(resource.description).toBe(`${name}: ${listingExample.description}`);
    },
  );

  it('keeps five tags of those that fit', () => {
    expect(resourceOf({ tags: ['über', 'a', 'b', 'y'.repeat(33), 'c', 'd', 'e', 'f'] }).tags).toEqual([
      'a',
      'b',
      'c',
      'd',
      'e',
    ]);
  });

  it('says what comes back, where its seller does', () => {
    const answer = { type: 'object', properties: { next: { $ref: '#' } } };
    for (const type of ['http', 'mcp'] as const) {
      const { info, schema } = toResource('https://market.test', { ...listingExample, output_schema: answer }, [], type)
        .extensions.bazaar;
      expect(info.output).toEqual({ type: 'json' });
      expect(schema.properties).toMatchObject({
        output: {
          properties: { example: { properties: { next: { $ref: '#/properties/output/properties/example' } } } },
        },
      });
    }
    expect(resourceOf({ output_schema: null }).extensions.bazaar.info).not.toHaveProperty('output');
  });

  it('shows icons that come over TLS', () => {
    expect(resourceOf({ logo_url: 'https://seller.example/logo.png' }).iconUrl).toBe('https://seller.example/logo.png');
    expect(resourceOf({ logo_url: 'http://seller.example/logo.png' })).not.toHaveProperty('iconUrl');
    expect(resourceOf({ logo_url: null })).not.toHaveProperty('iconUrl');
  });
});
