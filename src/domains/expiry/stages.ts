import type { Lifetime } from '#acme/renewal.ts'

/** Days before the end of a certificate at which people are told; at 0 it has ended. */
export const stages = [30, 14, 7, 3, 1, 0] as const
export type Stage = (typeof stages)[number]

const DAY = 86_400_000
/** Of a certificate as most are: shorter lives have shorter days. */
const USUAL_DAYS = 90

/** When a stage is reached: so many days before the end, or as much of a shorter life as that is of 90 days. */
export function reachedAt({ notBefore, notAfter }: Lifetime, stage: Stage): number {
  return notAfter - stage * Math.min(DAY, (notAfter - notBefore) / USUAL_DAYS)
}

/** When the next stage is reached; Infinity after the last. */
export const nextStageAt = (life: Lifetime, now: number): number =>
  Math.min(...stages.map(stage => reachedAt(life, stage)).filter(at => at > now))

export interface Told {
  readonly now: number
  /** The stage that was told last. */
  readonly told: Stage | undefined
  /** When it is renewed by itself, if it is. */
  readonly renewsAt: number | undefined
}

/** The stage that a certificate is in, if that is yet to be told. */
export function stageToTell(life: Lifetime, { now, told, renewsAt }: Told): Stage | undefined {
  const stage = stages.findLast(each => reachedAt(life, each) <= now)
  if (stage === undefined) return undefined
  // What is still to come was told by a clock that was wrong.
  if (told !== undefined && told <= stage && reachedAt(life, told) <= now) return undefined
  // A renewal is tried many times: people hear of it when half of the time for that has gone.
  if (stage > 0 && renewsAt !== undefined && reachedAt(life, stage) < (renewsAt + life.notAfter) / 2)
    return undefined
  return stage
}

export const readStage = (text: unknown): Stage | undefined => stages.find(stage => String(stage) === text)
