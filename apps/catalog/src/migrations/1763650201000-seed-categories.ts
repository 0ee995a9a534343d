import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The last digits of an id never change, and a retired one is not given away again. */
const CATEGORIES: readonly [lastDigits: string, slug: string, name: string, description: string][] = [
  ['01', 'data-research', 'Data & Research', 'Datasets, enrichment, market and literature research'],
  ['02', 'search-web', 'Search & Web', 'Web search, crawling, scraping and page extraction'],
  ['03', 'language-translation', 'Language & Translation', 'Translation, summarising, classification and other text understanding'],
  ['04', 'writing-content', 'Writing & Content', 'Copy, articles, editing and other written content'],
  ['05', 'code-development', 'Code & Development', 'Code generation, review, testing and developer tools'],
  ['06', 'images-design', 'Images & Design', 'Image generation, editing, recognition and design'],
  ['07', 'audio-video', 'Audio & Video', 'Speech, transcription, music and video'],
  ['08', 'finance-markets', 'Finance & Markets', 'Prices, filings, accounting and financial analysis'],
  ['09', 'blockchain-crypto', 'Blockchain & Crypto', 'On-chain data, wallets, tokens and smart contracts'],
  ['10', 'business-productivity', 'Business & Productivity', 'Documents, email, calendars, sales and back-office work'],
  ['11', 'maps-travel-weather', 'Maps, Travel & Weather', 'Places, routes, bookings and forecasts'],
  ['12', 'security-identity', 'Security & Identity', 'Verification, fraud detection, scanning and compliance'],
  ['13', 'science-health', 'Science & Health', 'Scientific computing, biology, chemistry and health information'],
  ['99', 'other', 'Other', 'Everything that fits nowhere else'],
];

export class SeedCategories1763650201000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const [index, [lastDigits, slug, name, description]] of CATEGORIES.entries()) {
      await runner.query('INSERT INTO categories (id, slug, name, description, sort_order) VALUES ($1, $2, $3, $4, $5)', [
        `01995bad-5c00-7000-8000-0000000000${lastDigits}`,
        slug,
        name,
        description,
        (index + 1) * 10,
      ]);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM categories');
  }
}
