pipeline {
    agent { docker { image 'swift:6.3' } }
    stages {
        stage('Test') {
            steps {
                sh '''
                    swift build --product failure-artifacts
                    "$(swift build --show-bin-path)/failure-artifacts" run --report --timeout 50m \
                        --junit junit.xml -- swift test --parallel
                '''
            }
        }
    }
    post {
        always {
            junit testResults: 'junit.xml', testDataPublishers: [[$class: 'AttachmentPublisher']]
            archiveArtifacts artifacts: 'failure-artifacts/**', allowEmptyArchive: true
        }
    }
}
