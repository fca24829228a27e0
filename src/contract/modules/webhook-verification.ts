import { module } from '#contract/kind.ts'
import { line } from '#contract/schema.ts'
import { input, required, secret } from '#contract/shape.ts'

/** The senders whose signatures can be verified. Case-insensitive, stored as written. */
export const webhookProviders = `
  aftership airship alchemy autodesk bitbucket bolt box brex buildkite calendly castle chargify
  circleci clearbit clerk coinbase contentful docusign dropbox facebook_graph_api facebook_messenger
  frameio github gitlab go1 graphcms heroku hostedhooks hubspot instagram intercom jira launch_darkly
  linear mailchimp mailgun microsoft_teams modern_treasury mongodb mux orb orbit pagerduty pinwheel
  plivo pusher sendgrid sentry shopify signal_sciences slack sns sonatype square stripe svix terraform
  tiktok trendmicro_conformity twilio twitter typeform vmware webex whatsapp worldline xero zendesk
  zoom
`
  .trim()
  .split(/\s+/)

export const webhookVerification = module({
  name: 'webhook_verification',
  doc: 'Allows only webhooks with a valid signature of their sender.',
  fields: {
    provider: required(
      input(
        line({ maxBytes: 64, missing: 'webhook_provider_missing' }),
        'The sender, such as GITHUB or STRIPE.',
      ),
    ),
    secret: secret(
      input(line({ maxBytes: 4096 }), 'The secret shared with the sender; none for SNS.'),
      'returned',
    ),
  },
})
