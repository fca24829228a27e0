/** How the system runs the agent, for any service manager. */
export interface ServiceSpec {
  /** Program and arguments. */
  readonly command: readonly string[]
  readonly home: string
  /** For this user only, instead of the machine. */
  readonly isUser: boolean
}

export type ServiceAction = 'start' | 'stop' | 'restart' | 'status'

/** A service definition: a file, and the commands that register it. */
export interface ServiceManager {
  /** Undefined if the system stores it elsewhere. */
  readonly file: { readonly path: string; readonly text: string } | undefined
  readonly install: readonly (readonly string[])[]
  readonly uninstall: readonly (readonly string[])[]
  readonly run: Readonly<Record<ServiceAction, readonly (readonly string[])[]>>
}

export const SERVICE_NAME = 'adit-agent'
