import { natsConfig, platformConfig, misspeltIn } from '@market/runtime';
import { services } from '../services.js';

it('no process takes a variable of another for a misspelt one of its own', () => {
  const names = [platformConfig, natsConfig, ...services.map(({ config }) => config)].flatMap(({ variables }) =>
    Object.values(variables).map(({ name }) => name),
  );
  const env = Object.fromEntries(names.map((name) => [name, 'x']));
  expect(names.length).toBeGreaterThan(80);
  for (const service of services) expect(misspeltIn(env, [service])).toEqual([]);
  expect(misspeltIn({ DATABSE_URL: 'x', CATALOG_DATABSE_URL: 'x' }, [services[0]!])).toEqual([
    'DATABSE_URL is unknown; did you mean DATABASE_URL?',
    'CATALOG_DATABSE_URL is unknown; did you mean CATALOG_DATABASE_URL?',
  ]);
});
