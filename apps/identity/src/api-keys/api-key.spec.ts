import { BASE62, hashApiKey } from '@market/contracts/identity';
import { apiKeyPrefix, generateApiKey } from './api-key.js';

describe('API key', () => {
  it('has the agreed form and is never twice the same', () => {
    const keys = Array.from({ length: 500 }, generateApiKey);
    expect(keys.filter((key) => hashApiKey(key) === null)).toEqual([]);
    expect(new Set(keys).size).toBe(500);
  });

  it('draws every digit equally often', () => {
    const counts = new Map<string, number>();
    for (let round = 0; round < 2000; round += 1)
      for (const digit of generateApiKey().slice(5, 48)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    const expected = (2000 * 43) / BASE62.length;
    const chiSquare = [...BASE62].reduce(
      (sum, digit) => sum + ((counts.get(digit) ?? 0) - expected) ** 2 / expected,
      0,
    );
    // With 61 degrees of freedom, 1 of 5 million runs exceeds 135; the bias of byte % 62 would give about 500.
    expect(chiSquare).toBeLessThan(135);
  });

  it('shows its first 12 characters', () => {
    const key = generateApiKey();
    expect(apiKeyPrefix(key)).toMatch(/^am_k_[0-9A-Za-z]{7}$/);
    expect(key.startsWith(apiKeyPrefix(key))).toBe(true);
  });
});
