import { solanaChainsOf, solanaMints, solanaRpcUrls, solanaSeed } from './solana-settings.js';

const MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';
const OWN = 'solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z';
const MINT = 'So11111111111111111111111111111111111111112';

describe('the settings of the Solana rail', () => {
  it('are chains with one or two servers, and the mint of USDC where it is known or named', () => {
    const urls = solanaRpcUrls.parse(`${MAINNET}=https://a|https://b, ${OWN}=http://127.0.0.1:1/?key=x=y`);
    expect(solanaChainsOf(urls, solanaMints.parse(`${OWN}=${MINT}`))).toEqual([
      { network: MAINNET, rpcUrls: ['https://a', 'https://b'], usdc: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v' },
      { network: OWN, rpcUrls: ['http://127.0.0.1:1/?key=x=y'], usdc: MINT },
    ]);
    expect(solanaChainsOf(solanaRpcUrls.parse(`${OWN}=https://c`), new Map())).toEqual([{ network: OWN, rpcUrls: ['https://c'], usdc: null }]);
  });

  it.each(['https://a', `${MAINNET}=`, `${MAINNET}=ftp://a`, `${MAINNET}=https://a|https://b|https://c`, 'solana:mainnet=https://a', 'eip155:1=https://a', `${MAINNET}=https://a,,`])('are refused where they are no chains: %s', (text) => {
    expect(solanaRpcUrls.safeParse(text).success).toBe(false);
  });

  it.each([`${OWN}=0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913`, `${OWN}=usdc`, MINT])('are refused where they are no mints: %s', (text) => {
    expect(solanaMints.safeParse(text).success).toBe(false);
  });

  it.each([['ab'.repeat(16), false], ['ab'.repeat(31), false], ['ab'.repeat(32), true], ['AB'.repeat(64), true], ['ab'.repeat(65), false], [`0x${'ab'.repeat(32)}`, false], ['abc'.repeat(21), false]])('take a seed of 32 to 64 bytes: %s', (text, isTaken) => {
    expect(solanaSeed.safeParse(text).success).toBe(isTaken);
  });
});
