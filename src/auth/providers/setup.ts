import type { Secret } from '#base/secrets.ts'
import type { GatewaySettings } from '#base/settings.ts'

/** An application as it is registered at a provider. */
export interface Application {
  readonly id: string
  readonly secret: Secret
}

/** The operator's provider settings. */
export interface OAuthSetup {
  /** The managed application of each provider that has one, by the name of the provider. */
  readonly applications: ReadonlyMap<string, Application>
  /** Non-public servers of the operator. */
  readonly githubUrl: string
  readonly gitlabUrl: string
}

const managed = ['github', 'gitlab', 'google', 'linkedin', 'microsoft', 'twitch'] as const

/** The setting that holds the managed application of a provider. */
export const applicationSetting = (provider: string): string => `oauth_${provider}`

/** Follows the settings, whose applications a reload may change. */
export const oauthSetup = (settings: GatewaySettings): OAuthSetup => ({
  get applications() {
    const applications = new Map<string, Application>()
    for (const name of managed) {
      const application = settings[`oauth_${name}`]
      if (application) applications.set(name, application)
    }
    return applications
  },
  githubUrl: settings.oauth_github_url,
  gitlabUrl: settings.oauth_gitlab_url,
})

/** Whether what was built with the applications before must be built again. */
export const changesApplications = (changes: Partial<GatewaySettings>): boolean =>
  managed.some(name => applicationSetting(name) in changes)
