/** A time zone in which it is noon by the clock of the machine: no day ends while a test runs. */
export function zoneOfNoon(): string {
  const hours = 12 - new Date().getUTCHours();
  return hours === 0 ? 'UTC' : `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`;
}
