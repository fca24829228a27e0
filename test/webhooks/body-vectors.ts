import assert from 'node:assert/strict'
import { sign as githubSign } from '@octokit/webhooks-methods'
import { PusherToken, worldlineLibrary } from './libraries.ts'
import { mac, post, type SentWebhook, type Vector } from './support.ts'

type Row = readonly [
  provider: string,
  header: string,
  algorithm: 'sha1' | 'sha256' | 'sha512',
  digest: 'hex' | 'base64',
  prefix?: string,
  variant?: string,
]

/** Senders that sign the content alone. */
const rows: readonly Row[] = [
  ['aftership', 'Aftership-Hmac-Sha256', 'sha256', 'base64'],
  ['aftership', 'As-Signature-Hmac-Sha256', 'sha256', 'base64', '', 'newer header'],
  ['alchemy', 'X-Alchemy-Signature', 'sha256', 'hex'],
  ['autodesk', 'x-adsk-signature', 'sha1', 'hex', 'sha1hash='],
  ['bitbucket', 'X-Hub-Signature', 'sha256', 'hex', 'sha256='],
  ['bolt', 'X-Bolt-Hmac-Sha256', 'sha256', 'base64'],
  ['bolt', 'X-Bolt-Hmac-Sha256-Pending', 'sha256', 'base64', '', 'during rotation'],
  ['castle', 'X-Castle-Signature', 'sha256', 'base64'],
  ['chargify', 'X-Chargify-Webhook-Signature-Hmac-Sha-256', 'sha256', 'hex'],
  ['circleci', 'circleci-signature', 'sha256', 'hex', 'v1='],
  ['clearbit', 'X-Request-Signature', 'sha1', 'hex', 'sha1='],
  ['coinbase', 'X-CC-Webhook-Signature', 'sha256', 'hex'],
  ['docusign', 'X-DocuSign-Signature-1', 'sha256', 'base64'],
  ['docusign', 'X-DocuSign-Signature-7', 'sha256', 'base64', '', 'seventh key'],
  ['dropbox', 'X-Dropbox-Signature', 'sha256', 'hex'],
  ['facebook_graph_api', 'X-Hub-Signature-256', 'sha256', 'hex', 'sha256='],
  ['facebook_graph_api', 'X-Hub-Signature', 'sha1', 'hex', 'sha1=', 'older header'],
  ['facebook_messenger', 'X-Hub-Signature-256', 'sha256', 'hex', 'sha256='],
  ['github', 'X-Hub-Signature', 'sha1', 'hex', 'sha1=', 'older header'],
  ['heroku', 'Heroku-Webhook-Hmac-SHA256', 'sha256', 'base64'],
  ['instagram', 'X-Hub-Signature-256', 'sha256', 'hex', 'sha256='],
  ['intercom', 'X-Hub-Signature', 'sha1', 'hex', 'sha1='],
  ['jira', 'X-Hub-Signature', 'sha256', 'hex', 'sha256='],
  ['launch_darkly', 'X-LD-Signature', 'sha256', 'hex'],
  ['modern_treasury', 'X-Signature', 'sha256', 'hex'],
  ['mongodb', 'X-MMS-Signature', 'sha1', 'base64'],
  ['mongodb', 'X-MMS-Signature', 'sha1', 'hex', '', 'in hex'],
  ['mongodb', 'Endpoint-Signature', 'sha256', 'hex', 'sha256=', 'app services'],
  ['orbit', 'X-Orbit-Signature', 'sha256', 'hex'],
  ['orbit', 'X-Orbit-Signature', 'sha256', 'hex', 'sha256=', 'with prefix'],
  ['pagerduty', 'X-PagerDuty-Signature', 'sha256', 'hex', 'v1='],
  ['sentry', 'Sentry-Hook-Signature', 'sha256', 'hex'],
  ['shopify', 'X-Shopify-Hmac-Sha256', 'sha256', 'base64'],
  ['signal_sciences', 'X-SigSci-Signature', 'sha256', 'hex'],
  ['sonatype', 'X-Nexus-Webhook-Signature', 'sha1', 'hex'],
  ['terraform', 'X-TFE-Notification-Signature', 'sha512', 'hex'],
  ['trendmicro_conformity', 'X-TrendMicro-Signature', 'sha256', 'hex'],
  ['twitter', 'x-twitter-webhooks-signature', 'sha256', 'base64', 'sha256='],
  ['typeform', 'Typeform-Signature', 'sha256', 'base64', 'sha256='],
  ['webex', 'X-Spark-Signature', 'sha1', 'hex'],
  ['whatsapp', 'X-Hub-Signature-256', 'sha256', 'hex', 'sha256='],
  ['xero', 'x-xero-signature', 'sha256', 'base64'],
]

const SECRET = 'a secret shared with the sender'

const ofRow = ([provider, header, algorithm, digest, prefix = '', variant]: Row): Vector => ({
  provider,
  ...(variant !== undefined && { variant }),
  secret: SECRET,
  needs: [header],
  make: (_at, content) => post({ [header]: prefix + mac(algorithm, SECRET, [content], digest) }, content),
})

const TEAMS_KEY = Buffer.from('0123456789abcdef0123456789abcdef')

/** The same, made or judged by the senders' own libraries, or with a key that is not the text of the secret. */
const others: readonly Vector[] = [
  {
    provider: 'github',
    secret: SECRET,
    needs: ['X-Hub-Signature-256'],
    make: async (_at, content) =>
      post({ 'X-Hub-Signature-256': await githubSign(SECRET, content.toString() || ' ') }, filled(content)),
  },
  {
    provider: 'pusher',
    secret: SECRET,
    needs: ['X-Pusher-Signature'],
    make: (_at, content) => {
      const signature = new PusherToken('app-key', SECRET).sign(content.toString())
      return post({ 'X-Pusher-Key': 'app-key', 'X-Pusher-Signature': signature }, content)
    },
  },
  {
    provider: 'worldline',
    secret: SECRET,
    needs: ['X-GCS-Signature'],
    make: (_at, content) =>
      post({ 'X-GCS-KeyId': 'k1', 'X-GCS-Signature': mac('sha256', SECRET, [content], 'base64') }, content),
    agrees: ({ body, headers }: SentWebhook) =>
      worldlineLibrary.newSignatureValidator({ getSecretKey: async () => SECRET }).validate(body, headers),
  },
  {
    provider: 'clearbit',
    variant: 'key as it is shown',
    secret: 'sk_0123456789',
    needs: ['X-Request-Signature'],
    make: (_at, content) =>
      post({ 'X-Request-Signature': `sha1=${mac('sha1', '0123456789', [content], 'hex')}` }, content),
  },
  {
    provider: 'microsoft_teams',
    secret: TEAMS_KEY.toString('base64'),
    other: Buffer.alloc(32).toString('base64'),
    needs: ['Authorization'],
    make: (_at, content) =>
      post({ Authorization: `HMAC ${mac('sha256', TEAMS_KEY, [content], 'base64')}` }, content),
  },
]

/** The library refuses to sign nothing, and GitHub never sends it. */
const filled = (content: Buffer): Buffer => (content.length === 0 ? Buffer.from(' ') : content)

assert.equal(new Set(rows.map(row => row.join(' '))).size, rows.length)

export const bodyVectors: readonly Vector[] = [...rows.map(ofRow), ...others]
