import { parsePriceSetting } from './price-settings.js';

const AGGREGATOR = '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419';

describe('parsePriceSetting', () => {
  it.each([
    ['fixed:3000.00', { kind: 'fixed', micros: 3_000_000_000n }],
    ['fixed:0.000001', { kind: 'fixed', micros: 1n }],
    [`chainlink:eip155:1:${AGGREGATOR}`, { kind: 'chainlink', network: 'eip155:1', aggregator: AGGREGATOR }],
    [`chainlink:eip155:8453:${AGGREGATOR.toLowerCase()}`, { kind: 'chainlink', network: 'eip155:8453', aggregator: AGGREGATOR }],
    ['http:https://prices.example/eth?key=a#/data/amount', { kind: 'http', url: 'https://prices.example/eth?key=a', pricePointer: '/data/amount', timePointer: null }],
    ['http:http://127.0.0.1:9000/#/0/price,/0/updated~1at', { kind: 'http', url: 'http://127.0.0.1:9000/', pricePointer: '/0/price', timePointer: '/0/updated~1at' }],
  ])('reads %s', (text, setting) => expect(parsePriceSetting(text)).toEqual(setting));

  it.each([
    '',
    '3000',
    'fixed:',
    'fixed:0',
    'fixed:-1',
    'fixed:3e3',
    'fixed:1.0000001',
    'fixed:1000001',
    'chainlink:1:0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419',
    'chainlink:eip155:1:0x5f4e',
    'chainlink:eip155:01:0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419',
    'http:https://prices.example/eth',
    'http:https://prices.example/eth#price',
    'http:ftp://prices.example/eth#/price',
    'http:/prices#/price',
    'oracle:eth',
  ])('refuses %j', (text) => expect(parsePriceSetting(text)).toBeNull());
});
