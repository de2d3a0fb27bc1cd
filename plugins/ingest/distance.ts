/** A place on the earth, degrees. */
export interface Location {
  readonly latitude: number;
  readonly longitude: number;
}

/** Along the surface, in radii of the earth: good to compare. (Haversine, for which small distances are no trouble.) */
export function distance(from: Location, to: Location): number {
  const [latitude, other] = [radians(from.latitude), radians(to.latitude)];
  const north = Math.sin((other - latitude) / 2) ** 2;
  const east = Math.sin(radians(to.longitude - from.longitude) / 2) ** 2;
  return 2 * Math.asin(Math.min(1, Math.sqrt(north + Math.cos(latitude) * Math.cos(other) * east)));
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
