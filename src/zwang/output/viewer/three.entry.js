export {
  AmbientLight, ArrowHelper, Box3, BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry,
    Color, ConeGeometry, CylinderGeometry,
  DirectionalLight, DoubleSide, GridHelper, Group, HemisphereLight, Matrix4, Mesh,
    MeshBasicMaterial, MeshLambertMaterial, MOUSE,
  OrthographicCamera, PerspectiveCamera, Quaternion, Scene, SphereGeometry, TorusGeometry, TOUCH,
    Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
export { Line2 } from "three/addons/lines/Line2.js";
export { LineGeometry } from "three/addons/lines/LineGeometry.js";
export { LineMaterial } from "three/addons/lines/LineMaterial.js";
export { LineSegments2 } from "three/addons/lines/LineSegments2.js";
export { LineSegmentsGeometry } from "three/addons/lines/LineSegmentsGeometry.js";
export { STLLoader } from "three/addons/loaders/STLLoader.js";
export { OBJLoader } from "three/addons/loaders/OBJLoader.js";
