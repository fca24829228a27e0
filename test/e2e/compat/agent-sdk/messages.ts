/** A method of an object of the SDK, and its arguments. */
export type Step = readonly [method: string, ...args: unknown[]]

/** Calls one method after another, each on what the one before gave; 0 is the module itself. */
export interface Call {
  readonly id: number
  readonly target: number
  readonly steps: readonly Step[]
}

/** An object of the SDK in the other process. All but the number is of listeners only. */
export interface RemoteObject {
  readonly ref: number
  readonly id: string
  readonly url: string
  readonly proto: string
  readonly metadata: string
  readonly forwardsTo: string
  readonly labels: Readonly<Record<string, string>>
}

export type Answer =
  | { readonly id: number; readonly value: RemoteObject | RemoteObject[] | undefined }
  | {
      readonly id: number
      readonly problem: { readonly message: string; readonly errorCode: string | undefined }
    }
  | { readonly event: string; readonly args: readonly unknown[] }
