import { describe, expect, it } from 'vitest';
import { isOriginPattern, misfit, type Restrictions } from '../../../plugins/protection/fits.ts';

const own = ['https://video.example.com'];

function rule(restrictions: Restrictions, facts: { origin?: string; address?: string; country?: string }) {
  const { origin, address, country } = facts;
  return misfit(restrictions, { origin, address, country, ownOrigins: own })?.rule ?? 'fits';
}

describe('origins', () => {
  const allowedOrigins = [
    'https://a.example',
    'http://localhost:3000',
    'https://*.b.example',
    'capacitor://localhost',
  ];
  it.each([
    ['https://a.example', 'fits'],
    ['http://localhost:3000', 'fits'],
    ['https://x.b.example', 'fits'],
    ['https://x.y.b.example', 'fits'],
    ['capacitor://localhost', 'fits'],
    ['https://video.example.com', 'fits'],
    // Another scheme, port or host is another origin.
    ['http://a.example', 'origin'],
    ['https://a.example:8443', 'origin'],
    ['http://localhost', 'origin'],
    ['https://www.a.example', 'origin'],
    ['https://b.example', 'origin'],
    ['https://.b.example', 'origin'],
    ['https://evilb.example', 'origin'],
    ['http://x.b.example', 'origin'],
    ['https://x.b.example:8443', 'origin'],
    ['https://x.b.example.evil.example', 'origin'],
    // What only looks like one that is allowed.
    ['https://evil.example/.b.example', 'origin'],
    ['https://evil.example?.b.example', 'origin'],
    ['https://evil.example#.b.example', 'origin'],
    ['https://evil.example\\.b.example', 'origin'],
    ['https://evil.example@x.b.example', 'origin'],
    ['https://a.example/', 'origin'],
    ['https://a.example https://evil.example', 'origin'],
    ['https://evil.example, https://a.example', 'origin'],
    ['https://*.b.example', 'origin'],
    ['HTTPS://A.EXAMPLE', 'origin'],
    ['https://a.example:443', 'origin'],
    ['https://a.example.', 'origin'],
    ['https://а.example', 'origin'],
    ['file://', 'origin'],
    ['', 'origin'],
    ['null', 'origin'],
    [undefined, 'origin'],
    [`https://${'x.'.repeat(4000)}b.example`, 'origin'],
  ])('%s: %s', (origin, expected) => {
    expect(rule({ allowedOrigins }, { origin })).toBe(expected);
    expect(rule({ origins: allowedOrigins }, { origin })).toBe(expected);
  });

  it('may be missing where that is allowed, and a wrong one may not', () => {
    const allowed = { allowedOrigins, allowNoOrigin: true };
    expect(['null', undefined].map((origin) => rule(allowed, { origin }))).toEqual(['fits', 'fits']);
    expect(['https://evil.example', ''].map((origin) => rule(allowed, { origin }))).toEqual([
      'origin',
      'origin',
    ]);
  });

  it('have to be in both lists', () => {
    const both = { allowedOrigins, origins: ['https://a.example'] };
    expect(rule(both, { origin: 'https://a.example' })).toBe('fits');
    expect(rule(both, { origin: 'http://localhost:3000' })).toBe('origin');
  });

  it.each([
    ['https://a.example', true],
    ['https://*.a.example', true],
    ['https://*.a.example:8443', true],
    ['http://[::1]:3000', true],
    ['https://xn--bcher-kva.example', true],
    ['https://bücher.example', false],
    ['https://a.example/', false],
    ['https://a.example:443', false],
    ['https://A.example', false],
    ['https://a.*.example', false],
    ['https://*', false],
    ['https://*.', false],
    ['https://*.*.example', false],
    ['https://*a.example', false],
    ['*', false],
    ['*://a.example', false],
    ['null', false],
    ['//a.example', false],
    ['https://user@a.example', false],
    ['', false],
  ])('as somebody writes one: %s is one: %s', (text, isOne) => {
    expect(isOriginPattern(text)).toBe(isOne);
  });
});

describe('addresses', () => {
  it.each([
    ['192.0.2.7', ['192.0.2.0/24'], 'fits'],
    ['192.0.3.7', ['192.0.2.0/24'], 'cidr'],
    ['::ffff:192.0.2.7', ['192.0.2.0/24'], 'fits'],
    ['::ffff:c000:207', ['192.0.2.0/24'], 'fits'],
    ['192.0.2.7', ['::ffff:192.0.2.0/120'], 'fits'],
    ['::192.0.2.7', ['192.0.2.0/24'], 'cidr'],
    ['64:ff9b::192.0.2.7', ['192.0.2.0/24'], 'cidr'],
    ['2001:db8::1', ['2001:db8::/32'], 'fits'],
    ['2001:db9::1', ['2001:db8::/32'], 'cidr'],
    ['fe80::1%eth0', ['fe80::/10'], 'fits'],
    ['10.0.0.1', ['192.0.2.0/24', '10.0.0.0/8'], 'fits'],
    ['10.0.0.1', ['0.0.0.0/0'], 'fits'],
    ['2001:db8::1', ['0.0.0.0/0'], 'cidr'],
    ['0300.0.2.7', ['0.0.0.0/0'], 'cidr'],
    ['192.0.2.7, 10.0.0.1', ['0.0.0.0/0'], 'cidr'],
    ['', ['::/0'], 'cidr'],
    [undefined, ['::/0', '0.0.0.0/0'], 'cidr'],
    ['192.0.2.7', ['no block'], 'cidr'],
    [undefined, [], 'fits'],
  ])('%s in %j: %s', (address, cidrs, expected) => {
    expect(rule({ cidrs }, { address })).toBe(expected);
  });
});

describe('countries', () => {
  it.each([
    ['DE', ['DE', 'AT'], 'fits'],
    ['FR', ['DE', 'AT'], 'country'],
    [undefined, ['DE'], 'country'],
    [undefined, [], 'fits'],
  ])('%s in %j: %s', (country, countries, expected) => {
    expect(rule({ countries }, { country })).toBe(expected);
  });

  it('are looked up only where they count', () => {
    const facts = {
      ...{ origin: undefined, address: undefined, ownOrigins: [] },
      get country(): string {
        throw new Error('looked up');
      },
    };
    expect(misfit({ cidrs: [] }, facts)).toBeUndefined();
    expect(() => misfit({ countries: ['DE'] }, facts)).toThrow('looked up');
  });
});
