import { application, endpoints, eventServices, networks, url } from '#base/setting-values.ts'
import { type Setting, setting } from '#base/settings/setting.ts'

const managedAt = (provider: string) =>
  setting({
    doc: `Application at ${provider} for endpoints without an application of their own.`,
    example: 'CLIENT_ID:CLIENT_SECRET',
    read: application,
    gateway: true,
    reload: true,
  })

/** Connections that the server opens: egress, event services and OAuth providers. */
export const outgoingSettings = {
  egress_allow: setting({
    doc: 'Private networks that static backends, sign-in providers and event destinations may use; none by default.',
    example: 'CIDR,...',
    read: networks,
    gateway: true,
  }),
  event_endpoints: setting({
    doc: `Other URLs of event services: ${eventServices.join(', ')}.`,
    example: 'NAME=URL,...',
    read: endpoints,
  }),
  oauth_github: managedAt('GitHub'),
  oauth_gitlab: managedAt('GitLab'),
  oauth_google: managedAt('Google'),
  oauth_linkedin: managedAt('LinkedIn'),
  oauth_microsoft: managedAt('Microsoft'),
  oauth_twitch: managedAt('Twitch'),
  oauth_github_url: setting({
    doc: 'GitHub, or a GitHub Enterprise server.',
    example: 'URL',
    fallback: 'https://github.com',
    read: url,
    gateway: true,
  }),
  oauth_gitlab_url: setting({
    doc: 'GitLab, or a self-hosted GitLab server.',
    example: 'URL',
    fallback: 'https://gitlab.com',
    read: url,
    gateway: true,
  }),
} satisfies Record<string, Setting<unknown>>
