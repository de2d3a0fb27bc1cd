/** One line of what the doctor says. */
export interface Finding {
  readonly state: 'ok' | 'warn' | 'bad';
  /** Such as `disk`. */
  readonly about: string;
  /** What is the case, and what to do where it is not ok. */
  readonly says: string;
}
