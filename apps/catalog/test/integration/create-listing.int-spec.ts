import {
  createListing,
  createListingChallenge,
  getListing,
  getOffering,
  listCategories,
  removeListing,
  updateListing,
} from '@market/contracts/catalog';
import { provisionEndpoint } from '@market/contracts/gateway';
import { newId, solvesProofOfWork } from '@market/kernel';
import { refuse } from '@market/messaging';
import { eventually } from '@market/testing';
import { LIMITS, principal, startCatalog, type CatalogService } from '../support/catalog-service.js';
import { create, perCall, plain, proofOf, refusalOf, solve, type NewListing } from '../support/listings.js';

describe('creating a listing', () => {
  let service: CatalogService;
  beforeAll(async () => {
    service = await startCatalog({ CATALOG_OPEN_CHALLENGES_MAX: '8' });
  });
  afterAll(() => service.stop());
  beforeEach(async () => {
    await service.sql('DELETE FROM listings');
    await service.sql('DELETE FROM listing_slugs');
    service.gateway.provisioned.length = 0;
    service.gateway.provision = () => ({ signingSecret: 'whsec_once', status: 'unverified', limits: LIMITS });
    service.received.removed.length = 0;
  });

  const stored = () => service.sql<{ id: string }>('SELECT id FROM listings');
  const open = async (agentId: string) =>
    (await service.sql('SELECT 1 FROM listing_challenges WHERE agent_id = $1', [agentId])).length;

  describe('keeps what it is told', () => {
    it('stores and shows every field as it was sent', async () => {
      const seller = principal();
      const written = {
        pricing_model: 'monthly',
        pricing_amount: 1000000,
        preferred_currency: 'SOL',
        delivery_type: 'streaming',
        auth_method: 'oauth2',
        formats: ['json', 'csv, "quoted"'],
        docs: 'd'.repeat(50_000),
        connection_instructions: 'c'.repeat(10_000),
        example_outputs: [{ label: 'null', content: '{"a": "\\u0000 escaped twice"}' }],
        demo_endpoint: 'https://demo.example/x?y=1#z',
        github_url: 'https://github.com/a/b',
        logo_url: 'https://logo.example/l.png',
        expected_delivery: 'now',
        risk_disclaimers: '<script>alert(1)</script>',
        sla: "99.9%; it's fine",
        tags: ['a', 'b c', '{}', 'NULL', '\\'],
        status: 'draft',
      } satisfies Partial<NewListing>;
      const { id } = await create(service, seller, written);
      expect(await service.ask(getListing, { ref: id }, { principal: seller })).toMatchObject(written);
      const other = await create(service, seller);
      expect(
        await service.ask(updateListing, { listing_id: other.id, ...written }, { principal: seller }),
      ).toMatchObject(written);
      expect(
        (await service.search({ q: 'weather', mine: true, page: 1, limit: 20 }, { principal: seller })).items.map(
          (item) => item.id,
        ),
      ).toEqual([other.id, id]);
      const cleared = {
        category_id: null,
        docs: null,
        connection_instructions: null,
        demo_endpoint: null,
        github_url: null,
        logo_url: null,
        expected_delivery: null,
        risk_disclaimers: null,
        sla: null,
      };
      expect(
        await service.ask(updateListing, { listing_id: other.id, ...cleared }, { principal: seller }),
      ).toMatchObject({ ...written, ...cleared });
    });

    it('finds and offers a listing by what it was changed to', async () => {
      const seller = principal();
      const { id } = await create(service, seller, perCall);
      const [category] = (await service.ask(listCategories, {})).categories;
      await service.ask(
        updateListing,
        {
          listing_id: id,
          docs: 'Barometers',
          preferred_currency: 'SOL',
          category_id: category!.id,
          delivery_type: 'batch',
        },
        { principal: seller },
      );
      const found = await service.search({
        q: 'barometer',
        categoryId: category!.id,
        deliveryType: 'batch',
        page: 1,
        limit: 20,
      });
      expect(found.items).toMatchObject([{ id, category_id: category!.id, preferred_currency: 'SOL' }]);
      const offering = {
        preferredCurrency: 'SOL',
        category: { id: category!.id, name: category!.name, slug: category!.slug },
      };
      expect(await service.ask(getOffering, { ref: id })).toMatchObject(offering);
      await eventually(() =>
        expect(service.received.changed.at(-1)).toMatchObject({ listingId: id, version: 2, ...offering }),
      );
      expect(
        await refusalOf(service.ask(updateListing, { listing_id: id, category_id: newId() }, { principal: seller })),
      ).toMatchObject({ reason: 'category_not_found' });
    });

    it("lists a seller's own in every state and nobody else's", async () => {
      const [seller, other] = [principal(), principal()];
      const ids = [];
      for (const status of ['draft', 'active', 'active'] as const)
        ids.unshift((await create(service, seller, { status })).id);
      await service.ask(removeListing, { listing_id: ids[0]! }, { principal: seller });
      await create(service, other);
      const own = (page: number) => service.search({ mine: true, page, limit: 2 }, { principal: seller });
      expect((await own(1)).items.map(({ id, status }) => [id, status])).toEqual([
        [ids[0], 'suspended'],
        [ids[1], 'active'],
      ]);
      expect(await own(2)).toMatchObject({ items: [{ id: ids[2], status: 'draft' }], total: 3 });
    });

    it('applies the defaults of the public contract', async () => {
      const seller = principal();
      const { id } = await create(service, seller);
      const detail = await service.ask(getListing, { ref: id });
      expect(detail).toMatchObject({
        category: null,
        pricing_model: 'free',
        pricing_amount: 0,
        pricing_currency: 'USD',
        preferred_currency: 'USDC',
        delivery_type: 'api',
        auth_method: 'api_key',
        formats: ['json'],
        docs: null,
        example_outputs: [],
        tags: [],
        status: 'active',
      });
      expect(detail).not.toHaveProperty('gateway_url');
    });

    it('shows connection instructions to the owner alone', async () => {
      const seller = principal();
      const { id } = await create(service, seller, { connection_instructions: 'Send the token you are given.' });
      expect(await service.ask(getListing, { ref: id }, { principal: seller })).toMatchObject({
        connection_instructions: 'Send the token you are given.',
      });
      for (const viewer of [undefined, principal()])
        expect(await service.ask(getListing, { ref: id }, { principal: viewer })).not.toHaveProperty(
          'connection_instructions',
        );
    });

    it('counts code points, so that a hundred emoji are a name', async () => {
      const seller = principal();
      const name = '👩🏽'.repeat(50);
      const { id, slug } = await create(service, seller, { name, description: '𝒳'.repeat(5_000) });
      expect(slug).toBe('listing');
      expect((await service.ask(getListing, { ref: id })).name).toBe(name);
    });

    it('indexes texts of the maximum length, whatever they are made of', async () => {
      const seller = principal();
      for (const word of ['a_', 'd', 'a-b.c/', '<a ', 'aA1', '日', '🦊', '\'\\"']) {
        const text = word.repeat(50_000 / word.length);
        await create(service, seller, { description: text.slice(0, 5_000), docs: text });
      }
    });

    it('asks identity for a seller it has not heard of, once', async () => {
      const seller = principal();
      await create(service, seller);
      await create(service, seller);
      expect(service.identity.asked.filter((id) => id === seller.accountId)).toHaveLength(1);
    });
  });

  describe('refuses', () => {
    const surplus = { ...perCall, pricing_model: 'monthly' as const };
    it.each<[string, Partial<NewListing>, string, Record<string, unknown>]>([
      ['a name of nothing to be seen', { name: '\u200b\u200b' }, 'text_invalid', { field: 'name' }],
      ['a price on a free listing', { pricing_amount: 0.000001 }, 'pricing_invalid', {}],
      ['a per_call listing without an endpoint', { pricing_model: 'per_call' }, 'private_endpoint_required', {}],
      ['an endpoint on another listing', surplus, 'private_endpoint_unexpected', {}],
      ['an unknown category', { category_id: newId() }, 'category_not_found', {}],
    ])('%s, and the challenge stays unused', async (_what, values, reason, details) => {
      const seller = principal();
      expect(await refusalOf(create(service, seller, values))).toMatchObject({ reason, details });
      expect(await open(seller.accountId)).toBe(1);
      expect(await stored()).toEqual([]);
      expect(service.gateway.provisioned).toEqual([]);
    });

    it.each([
      ['a human', principal({ accountType: 'human' })],
      ['an agent that only buys', principal({ role: 'buyer' })],
    ])('%s as a seller', async (_who, stranger) => {
      expect(
        (await refusalOf(service.ask(createListing, { ...plain, pow_nonce: '0' }, { principal: stranger }))).reason,
      ).toBe('seller_role_required');
      expect((await refusalOf(service.ask(createListingChallenge, {}, { principal: stranger }))).reason).toBe(
        'seller_role_required',
      );
    });

    it('a URL that the gateway refuses, and consumes nothing', async () => {
      const seller = principal();
      const proof = await proofOf(service, seller);
      service.gateway.provision = () => {
        throw refuse(provisionEndpoint, 'endpoint_url_refused', { problem: 'resolves to a private address' });
      };
      expect(await refusalOf(service.ask(createListing, { ...perCall, ...proof }, { principal: seller }))).toEqual({
        reason: 'endpoint_url_refused',
        details: { problem: 'resolves to a private address' },
      });
      expect(await stored()).toEqual([]);
      service.gateway.provision = () => ({ signingSecret: 'whsec_once', status: 'unverified', limits: LIMITS });
      expect(await service.ask(createListing, { ...perCall, ...proof }, { principal: seller })).toMatchObject({
        gateway_signing_secret: 'whsec_once',
      });
    });
  });

  describe('proof of work', () => {
    const attempt = (seller: ReturnType<typeof principal>, proof: Partial<NewListing>) =>
      refusalOf(service.ask(createListing, { ...plain, pow_nonce: '0', ...proof }, { principal: seller }));

    it('is solved for the latest unused challenge where none is named', async () => {
      const seller = principal();
      await proofOf(service, seller);
      const { pow_nonce } = await proofOf(service, seller);
      await service.ask(createListing, { ...plain, pow_nonce }, { principal: seller });
      expect(await open(seller.accountId)).toBe(1);
    });

    it('says what it takes', async () => {
      const answer = await service.ask(createListingChallenge, {}, { principal: principal() });
      expect(answer).toEqual({
        challenge: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        difficulty: 1,
        algorithm: 'sha256',
        hint: expect.stringContaining('pow_nonce') as string,
      });
    });

    it('a schema only after the work is proved, as its check can take long', async () => {
      const seller = principal();
      const { challenge, pow_nonce } = await proofOf(service, seller);
      const asked = (nonce: string) =>
        refusalOf(
          service.ask(
            createListing,
            { ...plain, challenge, pow_nonce: nonce, input_schema: { type: 'objec' }, example_input: {} },
            { principal: seller },
          ),
        );
      expect((await asked(' ')).reason).toBe('proof_of_work_invalid');
      expect((await asked(pow_nonce)).reason).toBe('schema_invalid');
    });

    it('is refused when it is wrong, spliced, foreign, unknown, used or late', async () => {
      const [seller, other] = [principal(), principal()];
      const { challenge, pow_nonce } = await proofOf(service, seller);
      const unsolved = Array.from({ length: 1_000 }, (_, nonce) => String(nonce)).find(
        (nonce) => !solvesProofOfWork(challenge, nonce, 1),
      )!;
      const wrong = [unsolved, ' ', `${pow_nonce}\n`, 'é'];
      for (const nonce of wrong)
        expect(await attempt(seller, { challenge, pow_nonce: nonce })).toMatchObject({
          reason: 'proof_of_work_invalid',
          details: { difficulty: 1 },
        });
      expect(
        (await attempt(seller, { challenge: challenge.slice(1) + pow_nonce.slice(0, 1), pow_nonce: '0' })).reason,
      ).toBe('challenge_invalid');
      expect((await attempt(seller, { challenge: challenge.toUpperCase(), pow_nonce })).reason).toBe(
        'challenge_invalid',
      );
      expect((await attempt(seller, { challenge: '\0', pow_nonce })).reason).toBe('challenge_invalid');
      expect((await attempt(other, { challenge, pow_nonce })).reason).toBe('challenge_invalid');
      expect((await attempt(other, { pow_nonce })).reason).toBe('challenge_invalid');
      await service.ask(createListing, { ...plain, challenge, pow_nonce }, { principal: seller });
      expect((await attempt(seller, { challenge, pow_nonce })).reason).toBe('challenge_invalid');
      const late = await proofOf(service, seller);
      await service.sql(
        `UPDATE listing_challenges SET expires_at = now() - interval '1 millisecond' WHERE challenge = $1`,
        [late.challenge],
      );
      expect((await attempt(seller, late)).reason).toBe('challenge_invalid');
      expect(await stored()).toHaveLength(1);
    });

    it('keeps the difficulty it was asked at', async () => {
      const seller = principal();
      const { challenge } = await service.ask(createListingChallenge, {}, { principal: seller });
      await service.sql('UPDATE listing_challenges SET difficulty = 3 WHERE challenge = $1', [challenge]);
      const weak = Array.from({ length: 1_000 }, (_, nonce) => String(nonce)).find(
        (nonce) => !solvesProofOfWork(challenge, nonce, 3),
      )!;
      expect((await attempt(seller, { challenge, pow_nonce: weak })).reason).toBe('proof_of_work_invalid');
      await service.ask(createListing, { ...plain, challenge, pow_nonce: solve(challenge, 3) }, { principal: seller });
    });

    it('makes one listing of 64 parallel attempts, and lets the gateway forget the endpoints of the rest', async () => {
      const seller = principal();
      const proof = await proofOf(service, seller);
      const answers = await Promise.allSettled(
        Array.from({ length: 64 }, () => service.ask(createListing, { ...perCall, ...proof }, { principal: seller })),
      );
      const created = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
      expect(created).toHaveLength(1);
      for (const answer of answers)
        if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ reason: 'challenge_invalid' });
      expect(await stored()).toEqual([{ id: created[0]!.id }]);
      const orphans = service.gateway.provisioned
        .map(({ listingId }) => listingId)
        .filter((id) => id !== created[0]!.id);
      await eventually(() =>
        expect(new Set(service.received.removed.map(({ listingId }) => listingId))).toEqual(new Set(orphans)),
      );
    });

    it('is open to an agent a limited number of times, also in parallel: the oldest gives way', async () => {
      const seller = principal();
      const first = await proofOf(service, seller);
      const others = await Promise.all(
        Array.from({ length: 64 }, () => service.ask(createListingChallenge, {}, { principal: seller })),
      );
      expect(await open(seller.accountId)).toBe(8);
      expect((await attempt(seller, first)).reason).toBe('challenge_invalid');
      const left = await service.sql<{ challenge: string }>(
        'SELECT challenge FROM listing_challenges WHERE agent_id = $1',
        [seller.accountId],
      );
      expect(others.map(({ challenge }) => challenge)).toEqual(
        expect.arrayContaining(left.map(({ challenge }) => challenge)),
      );
      const last = await proofOf(service, seller);
      await service.ask(createListing, { ...plain, ...last }, { principal: seller });
    });

    it('is timed by the database, from handing it out to its use', async () => {
      const seller = principal();
      const proof = await proofOf(service, seller);
      await service.sql(
        `UPDATE listing_challenges SET created_at = created_at - interval '90 seconds' WHERE challenge = $1`,
        [proof.challenge],
      );
      await service.ask(createListing, { ...plain, ...proof }, { principal: seller });
      const received = await eventually(() => {
        const found = service.received.worked.find(({ accountId }) => accountId === seller.accountId);
        expect(found).toBeDefined();
        return found!;
      });
      expect(received.difficulty).toBe(1);
      expect(received.solveMs).toBeGreaterThanOrEqual(90_000);
      expect(received.solveMs).toBeLessThan(100_000);
    });
  });

  describe('the address', () => {
    const slugOf = async (name: string) => (await create(service, principal(), { name })).slug;

    it('is the name in ASCII, then numbered, then anything that is free', async () => {
      const slugs: string[] = [];
      for (let count = 0; count < 7; count += 1) slugs.push(await slugOf('Crème Brûlée — Tørrfisk & Straße №1'));
      const base = 'creme-brulee-torrfisk-strasse-no1';
      expect(slugs.slice(0, 5)).toEqual([base, `${base}-2`, `${base}-3`, `${base}-4`, `${base}-5`]);
      for (const slug of slugs.slice(5)) expect(slug).toMatch(new RegExp(`^${base}-[0-9a-f]{6}$`));
    });

    it('is nobody else’s, also when 32 sellers want it at once', async () => {
      const slugs = await Promise.all(Array.from({ length: 32 }, () => slugOf('Race')));
      expect(new Set(slugs).size).toBe(32);
      expect(slugs).toContain('race');
      for (const slug of slugs) expect((await service.ask(getListing, { ref: slug })).slug).toBe(slug);
    });

    it('never reads as a path or an id', async () => {
      expect(await slugOf('Challenge')).toBe('challenge-2');
      const id = newId();
      expect(await slugOf(id.toUpperCase())).toBe(`${id}-2`);
    });
  });

  describe('with an Idempotency-Key', () => {
    const idempotency = { key: 'k-1', fingerprint: 'f-1' };

    it('answers a repetition with the same listing and secret, without another challenge', async () => {
      const seller = principal();
      const proof = await proofOf(service, seller);
      const ask = (as = idempotency) =>
        service.ask(createListing, { ...perCall, ...proof }, { principal: seller, idempotency: as });
      const first = await ask();
      service.gateway.provision = () => {
        throw new Error('must not be asked again');
      };
      const reply = {};
      expect(
        await service.ask(createListing, { ...perCall, ...proof }, { principal: seller, idempotency, reply }),
      ).toEqual(first);
      expect(reply).toEqual({ idempotencyReplayed: true });
      expect((await refusalOf(ask({ ...idempotency, fingerprint: 'f-2' }))).reason).toBe('idempotency_key_reused');
      expect(
        JSON.stringify(await service.sql(`SELECT encode(answer, 'escape') AS answer FROM idempotency_keys`)),
      ).not.toContain('whsec_');
    });

    it('makes one listing of 32 parallel requests, each with a proof of its own', async () => {
      const sellers = Array.from({ length: 4 }, () => principal());
      for (const seller of sellers) {
        const proofs = await Promise.all(Array.from({ length: 8 }, () => proofOf(service, seller)));
        const answers = await Promise.allSettled(
          proofs.map((proof) =>
            service.ask(createListing, { ...perCall, ...proof }, { principal: seller, idempotency }),
          ),
        );
        const ids = new Set(answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.id] : [])));
        expect(ids.size).toBe(1);
        for (const answer of answers)
          if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ reason: 'idempotency_in_progress' });
        expect(await service.sql('SELECT id FROM listings WHERE provider_id = $1', [seller.accountId])).toEqual([
          { id: [...ids][0] },
        ]);
        expect(await open(seller.accountId)).toBe(7);
      }
      const kept = (await stored()).map(({ id }) => id);
      const orphans = service.gateway.provisioned.map(({ listingId }) => listingId).filter((id) => !kept.includes(id));
      await eventually(() =>
        expect(new Set(service.received.removed.map(({ listingId }) => listingId))).toEqual(new Set(orphans)),
      );
    });
  });
});
