/** Dots that lead one folder up, however they are written. */
const ups = [
  '..',
  '%2e%2e',
  '%2E%2e',
  '.%2e',
  '%2e.',
  '%252e%252e',
  '%25%32%65%25%32%65',
  '%c0%ae%c0%ae',
  '%e0%80%ae%e0%80%ae',
  '%C0%AE.',
  '..;',
  '..;x=1',
  '%2e%2e%3b',
  '...',
  '.',
  '%2e',
]
/** What parts one segment from the next, or could. */
const slashes = [
  '/',
  '//',
  '%2f',
  '%2F',
  '%252f',
  '%5c',
  '%5C',
  '%255c',
  '\\',
  '%c0%af',
  '%e0%80%af',
  '/./',
  '/%2e/',
  '/;/',
  ';/',
]
/** What guarded and open places are called. */
const places = ['admin', '%61dmin', 'adm%69n', 'admi%6E', '%2561dmin', 'admin%2f', 'admin;x', 'admin%3bx']
/** What may end a path, or what comes behind it. */
const ends = [
  '?',
  '?/../admin',
  '%3f',
  '%3Fx/../../open',
  '%253f',
  '#',
  '%23',
  '%23/../admin',
  '%00',
  '%2500',
  '%00.png',
  ';',
  ';/../open',
  '/',
  '//',
  '/.',
  '/..',
  '/%2e%2e',
  '%20',
  '%09',
  '.',
  '%2e',
  '%',
  '%2',
  '%zz',
  '&x=/admin',
  '\t',
  '\x7f',
  '\xe4',
]

const climbing = slashes.flatMap(slash => ups.map(up => `/open/x${slash}${up}${slash}${up}${slash}admin`))
const fromRoot = slashes.flatMap(slash =>
  places.map(place => `${slash.startsWith('/') ? '' : '/'}${slash}${place}`),
)
const within = ups.flatMap(up => slashes.map(slash => `/open/${up}${slash}admin/x`))
const out = ups.map(up => `/admin/x/${up}/${up}/open/y`)
const ended = ends.flatMap(end => ['/admin', '/open', '/exact', '/api/x', '/'].map(place => place + end))

/** Absolute forms, and what only looks like one. */
const absolute = (host: string): string[] =>
  [
    '/admin',
    '/open',
    '/%61dmin',
    '//admin',
    '/open/../admin',
    '',
    '?x=/admin',
    '?/admin',
    '/open/%2e%2e/admin',
  ].flatMap(path => [
    `http://${host}${path}`,
    `HTTPS://${host.toUpperCase()}${path}`,
    `https://${host}:443${path}`,
    `https://other.example.test${path}`,
    `https://user@${host}${path}`,
    `https:${path}`,
    `//${host}${path}`,
  ])

const odd = [
  '/',
  '/admin',
  '/admin/',
  '/adminx',
  '/administrator',
  '/Admin',
  '/ADMIN',
  '/admin.html',
  '/exact',
  '/exact/',
  '/exact/x',
  '/%65xact',
  '/ex%61ct/',
  '/api',
  '/api/public',
  '/api/public/x',
  '/api/public/../private',
  '/api/public/%2e%2e/private',
  '/api/publi%63/x',
  '/api/public;/x',
  '/only',
  '/only/x',
  '/onl%79',
  '/open/..%252f..%252fadmin',
  '/open/%2e%2e/%252e%252e%252fadmin',
  '/x/%2e%2e/%252e%252e%2fopen',
  '/open/a%20b',
  '/open/%E2%82%AC',
  '/open/a;b=c;d=e/f',
  '/open/.well-known/x',
  '/.well-known/acme',
  '/open/a%2Fb',
  '/open/%2541',
  '/open//x',
  '/open/a//b',
  '/open/./x',
  '/open/x/../y',
  '/open/%7e',
  '*',
  '',
  'admin',
  '/open?x=../../admin',
  '/open?%2e%2e/admin',
  '/open?a#b',
  '/open/"<>',
  '/open/{}|^`',
]

/** Targets that one program and the next may understand in different ways. */
export const hardTargets = (host: string): string[] => [
  ...new Set([...climbing, ...fromRoot, ...within, ...out, ...ended, ...absolute(host), ...odd]),
]
