import type { Lifetime } from '#acme/renewal.ts'

/** Days before expiry at which a certificate is reported; 0: it has expired. */
export const stages = [30, 14, 7, 3, 1, 0] as const
export type Stage = (typeof stages)[number]

const DAY = 86_400_000
/** Usual lifetime; shorter ones have proportional stages. */
const USUAL_DAYS = 90

/** When a stage is reached: so many days before expiry, or the proportional part of a shorter lifetime. */
export function reachedAt({ notBefore, notAfter }: Lifetime, stage: Stage): number {
  return notAfter - stage * Math.min(DAY, (notAfter - notBefore) / USUAL_DAYS)
}

/** When the next stage is reached; Infinity after the last. */
export const nextStageAt = (life: Lifetime, now: number): number =>
  Math.min(...stages.map(stage => reachedAt(life, stage)).filter(at => at > now))

interface StageInput {
  readonly now: number
  /** The last reported stage. */
  readonly lastStage: Stage | undefined
  /** When it is renewed automatically, if it is. */
  readonly renewsAt: number | undefined
}

/** The current stage, if it is not reported yet. */
export function stageToReport(life: Lifetime, { now, lastStage, renewsAt }: StageInput): Stage | undefined {
  const stage = stages.findLast(each => reachedAt(life, each) <= now)
  if (stage === undefined) return undefined
  // A future stage was reported by a wrong clock.
  if (lastStage !== undefined && lastStage <= stage && reachedAt(life, lastStage) <= now) return undefined
  // Renewal is retried many times: it is reported when half of that time has passed.
  if (stage > 0 && renewsAt !== undefined && reachedAt(life, stage) < (renewsAt + life.notAfter) / 2)
    return undefined
  return stage
}

export const readStage = (text: unknown): Stage | undefined => stages.find(stage => String(stage) === text)
